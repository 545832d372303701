"""A folder of images by class: found, decoded once, kept in a cache."""
