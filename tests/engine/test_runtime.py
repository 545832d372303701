import pytest
import torch

from metamixup.engine.runtime import Runtime, cores_granted, usable_threads
from metamixup.errors import UserError


@pytest.mark.parametrize(("asked", "expected"), [("3", 3), ("1", 1), ("0", None), ("many", None), ("", None)])
def test_threads_follow_the_environment_or_the_cores(monkeypatch, asked, expected):
    monkeypatch.setenv("OMP_NUM_THREADS", asked)
    assert usable_threads() == expected if expected else 1 <= usable_threads() <= 16


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({"cpu.max": "150000 100000\n"}, 1.5),
        ({"cpu.max": "max 100000\n"}, float("inf")),
        ({"cpu/cpu.cfs_quota_us": "400000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 4),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, float("inf")),
        ({"cpu.max": "nonsense"}, float("inf")),
        ({}, float("inf")),
    ],
)
def test_a_containers_quota_is_read(tmp_path, files, cores):
    (tmp_path / "cpu").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert cores_granted(tmp_path) == cores


@pytest.mark.parametrize(("quota", "threads"), [(0.5, 1), (1.5, 1), (4.0, 4), (99.0, 8), (float("inf"), 8)])
def test_threads_stay_within_a_containers_quota(monkeypatch, quota, threads):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr("os.sched_getaffinity", lambda process: set(range(8)), raising=False)
    monkeypatch.setattr("metamixup.engine.runtime.cores_granted", lambda: quota)
    assert usable_threads() == threads


def test_one_process_is_rank_zero_of_one():
    runtime = Runtime(threads=1, device="cpu")
    assert (runtime.rank, runtime.world) == (0, 1)
    assert torch.are_deterministic_algorithms_enabled()


def test_images_lie_in_channels_last_and_other_tensors_as_they_are():
    runtime = Runtime(threads=1, device="cpu")
    image = runtime.to_device(torch.zeros(2, 3, 4, 4))
    assert image.is_contiguous(memory_format=torch.channels_last)
    assert runtime.to_device(torch.zeros(2, 5)).shape == (2, 5)
    assert Runtime(1, "64", "cpu").to_device(torch.zeros(2, 5)).dtype == torch.float64


@pytest.mark.skipif(torch.cuda.is_available(), reason="the error is about a missing GPU")
def test_a_missing_gpu_is_told():
    with pytest.raises(UserError, match="sees no GPU"):
        Runtime(threads=1, device="cuda")
