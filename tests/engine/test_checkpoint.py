import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from metamixup.engine import checkpoint

plain = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | st.text(max_size=5)
tensors = st.builds(
    lambda shape, kind: torch.arange(float(torch.Size(shape).numel())).reshape(shape).to(kind),
    st.lists(st.integers(0, 3), max_size=3),
    st.sampled_from([torch.float32, torch.float64, torch.int64, torch.uint8, torch.bool, torch.bfloat16]),
)
states = st.dictionaries(
    st.text(max_size=4) | st.integers(-3, 3),
    st.recursive(plain | tensors, lambda s: st.lists(s, max_size=3) | st.tuples(s) | st.dictionaries(st.text(), s)),
    max_size=4,
)


def same(a, b):
    if isinstance(a, torch.Tensor):
        return isinstance(b, torch.Tensor) and a.dtype == b.dtype and a.shape == b.shape and torch.equal(a, b)
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and a == b


@settings(max_examples=60)
@given(states)
def test_any_state_comes_back_as_it_was(state):
    assert same(checkpoint.unpack(checkpoint.pack(state)), state)


def test_what_cannot_be_stored_is_named():
    with pytest.raises(TypeError, match="/policy/rule is a function"):
        checkpoint.pack({"policy": {"rule": lambda: 0}})


def test_shared_and_strided_tensors_are_stored_whole():
    base = torch.arange(24.0).reshape(2, 3, 2, 2)
    image = base.to(memory_format=torch.channels_last)
    state = checkpoint.unpack(checkpoint.pack({"a": base, "view": base[1], "image": image, "again": base}))
    assert torch.equal(state["view"], base[1])
    assert torch.equal(state["image"], image)


def test_the_last_two_are_kept(tmp_path):
    for step in (3, 20, 100):
        checkpoint.save(tmp_path, step, {"step": step})
    assert sorted(int(p.name.split("-")[1]) for p in tmp_path.iterdir()) == [20, 100]
    found, damaged = checkpoint.newest(tmp_path)
    assert (found.step, found.state, damaged) == (100, {"step": 100}, [])


@pytest.mark.parametrize("damage", ["flip first", "flip last", "truncate", "empty", "append", "unreadable"])
def test_a_damaged_checkpoint_is_passed_over(tmp_path, damage):
    checkpoint.save(tmp_path, 1, {"w": torch.zeros(100)})
    path = checkpoint.save(tmp_path, 2, {"w": torch.ones(100)})
    content = path.read_bytes()
    if damage == "unreadable":
        path.unlink()
        path.mkdir()
    else:
        flipped = {"flip first": 0, "flip last": len(content) - 1}
        changed = {"truncate": content[:-7], "empty": b"", "append": content + b"x"}
        if damage in flipped:
            k = flipped[damage]
            changed[damage] = content[:k] + bytes([content[k] ^ 1]) + content[k + 1 :]
        path.write_bytes(changed[damage])
    found, damaged = checkpoint.newest(tmp_path)
    assert found.step == 1
    assert damaged == [path]


@given(st.binary(max_size=200))
@settings(max_examples=40)
def test_any_bytes_are_refused(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("any") / f"step-000000001-{'0' * 32}.safetensors"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="damaged"):
        checkpoint.read(path)


def test_other_files_are_no_checkpoints(tmp_path):
    (tmp_path / "step-1.safetensors").write_bytes(b"?")
    (tmp_path / ".step-000000001.tmp").write_bytes(b"?")
    assert checkpoint.newest(tmp_path) == (None, [])
    assert checkpoint.newest(tmp_path / "not there") == (None, [])
