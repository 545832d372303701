import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from metamixup.errors import UserError
from metamixup.settings.config import contradiction, read_config, read_toml, write_config
from metamixup.settings.forms import FORMER as FORMER_NAMES
from metamixup.settings.methods import METHODS
from metamixup.settings.resolve import default_out, parse_assignment, resolve, with_whole_paths
from metamixup.settings.schema import Settings

CHOICES = {
    "data": st.sampled_from(["digits", "mnist", "./a folder/'of' \"photos\"", "größe"]),
    "method": st.sampled_from(list(METHODS)),
    "epochs": st.integers(1, 10**6),
    "seed": st.integers(0, 2**63 - 1),
    "compile": st.booleans(),
    "optimizer.lr": st.floats(1e-12, 1e3),
    "optimizer.clip": st.floats(1e-6, 1e6),
    "optimizer.milestones": st.lists(st.floats(0, 1), max_size=4),
    "meta.per_class": st.integers(1, 1000),
    "augment.flip": st.booleans(),
}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.fixed_dictionaries({}, optional=CHOICES))
def test_settings_come_back_from_config_toml_as_they_were(tmp_path, given_values):
    resolved = resolve(given_values, threads=3)
    write_config(tmp_path / "config.toml", resolved)
    assert read_config(tmp_path / "config.toml") == resolved
    assert resolve(read_toml(tmp_path / "config.toml")) == resolved  # enough to run it again
    assert contradiction(given_values, resolved) is None
    assert resolved.threads == 3


def test_what_is_given_wins_over_the_method_and_the_method_over_the_data():
    assert resolve({"method": "baseline"}).policy.model_dump()["lam"] == 1.0
    assert resolve({"method": "fixed", "policy.lam": 0.4}).policy.model_dump()["lam"] == 0.4
    assert resolve({"data": "digits"}).meta.per_class == 10
    assert resolve({"data": "digits", "meta.per_class": 5}).meta.per_class == 5


def test_a_setting_of_another_policy_is_refused_by_naming_those_that_apply():
    with pytest.raises(
        UserError,
        match=r"policy\.projection does not apply to policy 'beta', which has alpha, per, share and settle; "
        "policy 'learned' has it",
    ):
        resolve({"method": "mixup", "policy.projection": "paper"})
    with pytest.raises(UserError, match=r"estimator\.layers does not apply to estimator 'head'"):
        resolve({"method": "metamixup-logit", "estimator.layers": ["fc"]})


def test_another_policy_leaves_the_defaults_of_the_method_that_it_does_not_have():
    assert "alpha" not in resolve({"method": "mixmatch", "policy.name": "fixed"}).policy.model_dump()
    assert resolve({"method": "mixmatch"}).policy.model_dump()["alpha"] == 0.75


def test_a_control_is_a_field():
    resolved = resolve({"method": "trustmix:reverse"})
    assert (resolved.method, resolved.control, resolved.full_method) == ("trustmix", "reverse", "trustmix:reverse")
    assert resolved == resolve({"method": "trustmix", "control": "reverse"})
    assert contradiction({"method": "trustmix:reverse"}, resolved) is None
    assert "control" in contradiction({"method": "trustmix:shuffle"}, resolved)


FORMER = """
method = "{method}"
[policy]
name = "{name}"
lam = 0.5
alpha = 0.4
per = "sample"
step_size = 2.0
projection = "clip"
normalise = true
memory = 0.3
settle = 0.5
granularity = "data"
rate = 0.07
pull = 0.5
one_step = false
replay = "elsewhere"
[estimator]
name = "head"
every = 3
fraction = 1.0
memory = 0.8
layers = []
lookahead = true
"""


def test_config_files_of_the_former_version_are_read(tmp_path):
    path = tmp_path / "config.toml"
    path.write_text(FORMER.format(name="learned", method="metamixup-one-step:replay"))
    found = read_config(path)
    assert found.policy.model_dump() == {
        **{"name": "learned", "step_size": 2.0, "projection": "clip", "normalise": True, "alpha": 0.4, "per": "sample"}
    }
    assert (found.method, found.control, found.replay) == ("metamixup-logit", "replay", "elsewhere")
    assert (found.estimator.every, found.estimator.model_dump()["memory"]) == (3, 0.8)
    path.write_text(FORMER.format(name="persistent", method="metamixup"))
    assert read_config(path).policy.model_dump()["step_size"] == 0.07


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("metamixup", "trustmix"),
        ("metamixup:reverse", "trustmix:reverse"),
        ("metamixup-one-step", "metamixup-logit"),
        ("metamixup-paper", "metamixup"),
        ("metamixup+apl", "metamixup-logit+apl"),
        ("mixup", "mixup"),
    ],
)
def test_methods_of_the_former_version_are_read_by_their_new_names(tmp_path, before, now):
    path = tmp_path / "config.toml"
    path.write_text(FORMER.format(name="learned", method=before))
    assert read_config(path).full_method == now


@pytest.mark.parametrize(("before", "now"), [*FORMER_NAMES.items(), ("metamixup-one-step+apl", "metamixup-logit+apl")])
def test_names_that_are_gone_say_what_they_are_called_now(before, now):
    with pytest.raises(UserError, match=re.escape(f"method '{before}' is called '{now}' now")):
        resolve({"method": before})


def test_metamixup_is_the_paper_to_the_letter_and_the_default_is_the_projects_own():
    letter = resolve({"method": "metamixup"})
    assert letter.policy.model_dump() == {
        **{"name": "learned", "step_size": 5.0, "projection": "paper", "normalise": False, "alpha": 1.0},
        "per": "sample",
    }
    assert (letter.estimator.name, letter.estimator.every) == ("exact", 1)
    assert resolve({"method": "metamixup-clip"}).policy.model_dump()["projection"] == "clip"
    assert resolve({"method": "metamixup-logit"}).policy.model_dump()["projection"] == "logit"
    assert resolve({}).method == "trustmix"
    for rest in ("pseudo-label", "apl", "mixmatch"):
        for form in ("metamixup", "metamixup-clip", "metamixup-logit", *(["trustmix"] if rest != "mixmatch" else [])):
            assert resolve({"method": f"{form}+{rest}"}).policy.name == resolve({"method": form}).policy.name


def test_no_data_set_of_digits_is_mirrored_by_default():
    for data in ("digits", "mnist", "svhn"):
        assert resolve({"data": data}).augment.flip is not True


@pytest.mark.parametrize("name", ["metamix", "mixupp", "trustmix:revers"])
def test_unknown_methods_suggest_the_nearest(name):
    with pytest.raises(UserError, match="did you mean"):
        resolve({"method": name})


def test_contradictions_are_told_by_both_values():
    stored = resolve({"epochs": 10})
    assert contradiction({"epochs": 10, "optimizer.lr": stored.optimizer.lr}, stored) is None
    assert contradiction({"epochs": 11}, stored) == "epochs = 11 contradicts the run's epochs = 10"
    assert "policy.name" in contradiction({"policy.name": "beta"}, stored)
    assert "optimizer.clip" in contradiction({"optimizer.clip": 1.0}, stored)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("policy.step_size=5", ("policy.step_size", 5)),
        ("augment.flip = true", ("augment.flip", True)),
        ("optimizer.milestones=[0.5, 0.9]", ("optimizer.milestones", [0.5, 0.9])),
        ("method=mixup", ("method", "mixup")),
        ('precision="64"', ("precision", "64")),
        ("data=a=b", ("data", "a=b")),
    ],
)
def test_assignments(text, expected):
    assert parse_assignment(text) == expected


@pytest.mark.parametrize("text", ["epochs", "=5", "", "epoch=5", "policy=5"])
def test_assignments_that_are_none(text):
    with pytest.raises(UserError, match="--set"):
        parse_assignment(text)


def test_files_that_are_not_toml(tmp_path):
    (tmp_path / "a.toml").write_text("epochs: 3")
    (tmp_path / "b.toml").write_bytes(b"\xff\xfe")
    for path, told in (("a.toml", "not TOML"), ("b.toml", "not TOML"), ("c.toml", "no such file"), (".", "cannot be")):
        with pytest.raises(UserError, match=told):
            read_toml(tmp_path / path)


def test_paths_are_stored_whole_and_names_stay_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "photos").mkdir()
    (tmp_path / "digits").mkdir()
    assert with_whole_paths({"data": "photos"})["data"] == str(tmp_path / "photos")
    assert with_whole_paths({"data": "digits"})["data"] == "digits"
    assert with_whole_paths({"data": "not there", "data_dir": "files"}) == {
        "data": "not there",
        "data_dir": str(tmp_path / "files"),
    }


@pytest.mark.parametrize(
    ("able", "settled"), [({"avx512_bf16": True}, "bf16-mixed"), ({"avx2": True}, "32"), ({}, "32")]
)
def test_the_fastest_precision_is_settled_by_what_the_processor_can_do(monkeypatch, able, settled):
    monkeypatch.setattr("torch.cpu.get_capabilities", lambda: able)
    run = resolve({"precision": "fastest", "device": "cpu"})
    assert run.precision == settled
    assert contradiction({"precision": "fastest"}, run) is None  # --resume with the same words
    assert "contradicts" in contradiction({"precision": "64"}, run)
    assert resolve({}).precision == "32"


def test_the_default_folder_is_a_plain_name():
    assert str(default_out(Settings())) == "runs/digits-cnn3-trustmix-0"
    odd = Settings(data="/data/my photos", method="trustmix", control="reverse", model="my.module:net", seed=3)
    assert str(default_out(odd)) == "runs/my-photos-my.module-net-trustmix-reverse-3"


def test_a_device_is_no_config():
    """Reading /dev/zero takes all memory."""
    with pytest.raises(UserError, match="it is no ordinary file"):
        read_toml(Path("/dev/zero"))
