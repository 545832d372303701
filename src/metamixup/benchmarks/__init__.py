"""What a learned policy costs and what it is worth, measured side by side with its peers: `metamixup bench`."""
