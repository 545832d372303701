import pytest
import torch

from metamixup.engine.runtime import Compiled, Runtime, usable_threads
from metamixup.errors import UserError


@pytest.mark.parametrize(("asked", "expected"), [("3", 3), ("1", 1), ("0", None), ("many", None), ("", None)])
def test_threads_follow_the_environment_or_the_cores(monkeypatch, asked, expected):
    monkeypatch.setenv("OMP_NUM_THREADS", asked)
    assert usable_threads() == expected if expected else 1 <= usable_threads() <= 16


def test_one_process_is_rank_zero_of_one():
    runtime = Runtime(threads=1, device="cpu")
    assert (runtime.rank, runtime.world) == (0, 1)
    assert torch.are_deterministic_algorithms_enabled()


def test_images_lie_in_channels_last_and_other_tensors_as_they_are():
    runtime = Runtime(threads=1, device="cpu")
    image = runtime.place(torch.zeros(2, 3, 4, 4))
    assert image.is_contiguous(memory_format=torch.channels_last)
    assert runtime.place(torch.zeros(2, 5)).shape == (2, 5)
    assert Runtime(1, "64", "cpu").place(torch.zeros(2, 5)).dtype == torch.float64


@pytest.mark.skipif(torch.cuda.is_available(), reason="the error is about a missing GPU")
def test_a_missing_gpu_is_told():
    with pytest.raises(UserError, match="sees no GPU"):
        Runtime(threads=1, device="cuda")


def test_a_network_that_cannot_be_compiled_goes_on_plainly(monkeypatch):
    def refuse(net, **options):
        def broken(*inputs):
            raise RuntimeError("no compiler here\nand more")

        return broken

    monkeypatch.setattr(torch, "compile", refuse)
    said = []
    net = Compiled(torch.nn.Identity(), said.append)
    assert net(torch.ones(2)).sum() == 2
    assert net(torch.ones(2)).sum() == 2
    assert said == ["going on without torch.compile: no compiler here"]
