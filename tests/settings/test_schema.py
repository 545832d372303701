import pytest
from hypothesis import given
from hypothesis import strategies as st

from metamixup.errors import UserError
from metamixup.settings.dotted import flat, nested
from metamixup.settings.schema import Settings, check, known_keys


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"epochs": 0}, "epochs = 0"),
        ({"epochs": "many"}, "epochs = 'many'"),
        ({"optimizer": {"lr": -1}}, "optimizer.lr = -1"),
        ({"optimizer": {"lr": float("nan")}}, "optimizer.lr = nan"),
        ({"optimizer": {"momentum": 1.0}}, "optimizer.momentum"),
        ({"policy": {"name": "fixed", "lam": 1.5}}, "policy: λ lies in [0, 1], not 1.5"),
        ({"policy": {"name": "fixed", "lam": "half"}}, "policy.lam = 'half'"),
        ({"policy": {"name": "learned", "projection": "papr"}}, "policy: projection is one of paper, clip, logit"),
        ({"policy": {"name": "trust", "memory": 0}}, "policy: memory lies in (0, 1]"),
        ({"policy": {"name": "bta"}}, "did you mean 'beta'?"),
        ({"policy": {"name": 3}}, "policy.name = 3"),
        ({"policy": {"lam": 0.5}}, "policy.lam does not apply to policy 'trust', which has alpha, "),
        ({"estimator": {"name": "exact", "memory": 0.5}}, "estimator.memory does not apply to estimator 'exact'"),
        ({"estimator": {"every": 0}}, "estimator.every = 0"),
        ({"policy": 5}, "policy = 5"),
        ({"meta": {"per_class": 0}}, "meta.per_class = 0"),
        ({"precision": "8"}, "precision = '8'"),
        ({"seed": -1}, "seed = -1"),
    ],
)
def test_values_out_of_range_are_told_with_their_place(values, told):
    with pytest.raises(UserError) as caught:
        check(values, "file.toml")
    text = str(caught.value)
    assert text.startswith("file.toml: ")
    assert told in text
    assert len(text.splitlines()) == 1


def test_an_unknown_key_suggests_the_nearest():
    with pytest.raises(UserError, match=r"unknown setting 'polcy.step_size'; did you mean 'policy.step_size'\?"):
        check(nested({"polcy.step_size": 5}))
    with pytest.raises(UserError, match=r"did you mean 'epochs'\?"):
        check({"epoch": 5})


@given(st.dictionaries(st.sampled_from(known_keys()), st.integers()))
def test_flat_and_nested_are_inverse(values):
    assert flat(nested(values)) == values


def test_a_key_below_a_value_is_refused():
    with pytest.raises(UserError, match="is a value, not a section"):
        nested({"epochs": 1, "epochs.more": 2})


def test_every_setting_has_one_dotted_name():
    assert len(known_keys()) == len(set(known_keys()))
    assert {"epochs", "optimizer.lr", "policy.name", "estimator.every", "meta.per_class"} <= set(known_keys())
    assert check({}) == Settings()


def test_true_is_no_number():
    with pytest.raises(UserError, match="epochs: a number is wanted"):
        check({"epochs": True})
