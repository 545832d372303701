"""Settings of a run that trains in a second."""

SMALL = {"data": "digits", "model": "cnn2d", "epochs": 2, "batch_size": 64, "subset": 320, "meta.per_class": 10}
