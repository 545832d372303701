"""The paper's figures: one file each, records in, numbers and a figure out."""
