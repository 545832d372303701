"""One torch thread a test process (pytest-xdist runs two), and warnings of the machine kept out."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch

torch.set_num_threads(1)
