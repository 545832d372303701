"""Learned mixing in other people's frameworks; each module imports its library only when it is asked for."""
