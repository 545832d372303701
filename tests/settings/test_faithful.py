"""What docs/faithful.md names as the way back to a source exists, and is not what is done anyway."""

import re
import tomllib
from pathlib import Path

import pytest

from metamixup.settings.dotted import flat
from metamixup.settings.resolve import resolve

PAGE = (Path(__file__).parents[2] / "docs" / "faithful.md").read_text()
NAMED = sorted(set(re.findall(r"`((?:policy|ssl|optimizer)\.\w+|pixels)=([^`]+)`", PAGE)))


def test_the_page_names_settings():
    assert {key for key, _ in NAMED} >= {
        "policy.per",
        "policy.alpha",
        "ssl.ema_warmup",
        "ssl.ramp_over",
        "ssl.xi",
        "pixels",
    }


@pytest.mark.parametrize(("key", "text"), NAMED)
def test_a_setting_that_turns_back_to_a_source_differs_from_the_default(key, text):
    value = tomllib.loads(f"value = {text}")["value"]
    given = {"method": "mixup" if key.startswith("policy") else "mixmatch", "ssl.labels": 100}
    assert flat(resolve({**given, key: value}).model_dump())[key] == value
    assert flat(resolve(given).model_dump())[key] != value
