"""What makes this project's own pages from records. Not part of the package."""
