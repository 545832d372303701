"""Learned data mixing for PyTorch."""

__version__ = "0.1.0"
