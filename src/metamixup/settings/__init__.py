"""From what a user wrote to objects."""
