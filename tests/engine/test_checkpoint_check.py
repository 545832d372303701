"""A checkpoint whose checksum fits may still hold anything: one altered value anywhere is told, never a traceback."""

import copy
from collections import Counter
from dataclasses import replace

import pytest
import torch
from engine.toy_runs import run, toy_training

from metamixup.engine import checkpoint
from metamixup.engine.checkpoint_check import mismatch
from metamixup.engine.divergence import Diverged
from metamixup.engine.records.epoch import EpochRecord
from metamixup.engine.run_state import load_state
from metamixup.engine.runtime import Runtime
from metamixup.engine.step import Stepper
from metamixup.errors import UserError

OTHERS = [None, "text", -1, 1e308, [], {}, torch.zeros(3, 1, 2), torch.zeros(0, dtype=torch.int32)]


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    """The state in the last checkpoint of a run, and its step."""
    out = tmp_path_factory.mktemp("ended")
    run(toy_training(), out)
    found, _ = checkpoint.newest(out / "checkpoints")
    return found


def paths(node, path=()):
    """Where every value of a state is."""
    yield path
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list | tuple) else ()
    for key, value in items:
        yield from paths(value, (*path, key))


def altered(state, path, value):
    state = copy.deepcopy(state)
    if not path:
        return value
    holder = state
    for key in path[:-1]:
        holder = holder[key]
    if isinstance(holder, tuple):
        return None
    holder[path[-1]] = value
    return state


def test_one_altered_value_anywhere_is_told(ended):
    """Either nothing is loaded, with a sentence, or the next steps can be taken."""
    told, runtime = Counter(), Runtime(1, device="cpu")
    for number, path in enumerate(paths(ended.state)):
        for other in OTHERS[number % 3 :: 3]:
            state = altered(ended.state, path, other)
            if state is None:
                continue
            training = toy_training()
            stepper = Stepper(training, runtime, print)
            try:
                load_state(replace(ended, state=state), training, EpochRecord(training.num_classes))
                stepper(ended.step - 1)
                told["taken"] += 1
            except (UserError, Diverged):
                told["refused"] += 1
    assert told["refused"] > 3 * told["taken"] > 0  # a number in place of a number may be taken


def test_a_parameter_of_which_less_is_remembered_than_of_others_is_told(ended):
    state = copy.deepcopy(ended.state)
    next(iter(state["training"]["optimizer"]["state"].values())).popitem()
    training = toy_training()
    with pytest.raises(UserError, match="remembers less of some parameters"):
        load_state(replace(ended, state=state), training, EpochRecord(training.num_classes))


def test_a_group_without_a_rate_is_told(ended):
    state = copy.deepcopy(ended.state)
    del state["training"]["optimizer"]["param_groups"][0]["lr"]
    training = toy_training()
    with pytest.raises(UserError, match="other settings"):
        load_state(replace(ended, state=state), training, EpochRecord(training.num_classes))


def test_a_run_goes_on_on_another_kind_of_processor(ended):
    state = copy.deepcopy(ended.state)
    (group,) = state["training"]["optimizer"]["param_groups"]
    training = toy_training()
    group["fused"] = True
    load_state(replace(ended, state=state), training, EpochRecord(training.num_classes))
    for other in ("text", torch.zeros(0)):
        group["fused"] = other
        with pytest.raises(UserError, match="other settings"):
            load_state(replace(ended, state=state), training, EpochRecord(training.num_classes))


def test_what_fits():
    own = {"a": torch.zeros(2, 3), "grows": torch.zeros(0), "b": [1, 2.0], "c": {}, "d": True}
    assert mismatch({**own, "grows": torch.zeros(9), "c": {"later": 1}}, own) is None
    for key, value in (("a", torch.zeros(3, 2)), ("a", 1), ("grows", torch.zeros(2, 2)), ("b", [1]), ("d", 1)):
        assert key in (mismatch({**own, key: value}, own) or "")
    assert "in place of" in (mismatch({"a": 1}, own) or "")


def test_a_step_beyond_the_run_is_refused(ended, tmp_path):
    checkpoint.save(tmp_path / "checkpoints", 10_000, ended.state)
    with pytest.raises(UserError, match="step 10000 of 12"):
        run(toy_training(), tmp_path)
