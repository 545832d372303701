"""One run: trained, used, exported, looked at."""
