"""One torch thread a test process (pytest-xdist runs two), and warnings of the machine kept out."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
import torch
from hypothesis import HealthCheck, settings

pytest_plugins = ["browser"]
torch.set_num_threads(1)
# A busy machine is slow, not wrong.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


@pytest.fixture(autouse=True)
def _process_as_before():
    """A run sets its process up for good: denormals flushed, deterministic kernels. The next test has its own."""
    yield
    torch.set_flush_denormal(False)
    torch.use_deterministic_algorithms(False)
    torch.set_num_threads(1)


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory):
    """What is decoded and whitened once is kept for the session, not in the user's cache."""
    os.environ["METAMIXUP_CACHE"] = str(tmp_path_factory.mktemp("cache"))
