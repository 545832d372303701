"""Recipes: whole settings for a data set by name, with what they cost and reach in the head of their file.

Adding one is adding a TOML file to `recipes/`.
"""

from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

from metamixup.errors import unknown
from metamixup.settings.config import read_toml


def known_recipes() -> dict[str, str]:
    """Every recipe by name, with the first line of its file."""
    files = sorted((file for file in _folder().iterdir() if file.name.endswith(".toml")), key=lambda file: file.name)
    return {file.name.removesuffix(".toml"): _about(file) for file in files}


def read_recipe(name: str) -> dict[str, Any]:
    """The dotted settings of a recipe."""
    if name not in known_recipes():
        raise unknown("recipe", name, known_recipes())
    with resources.as_file(_folder() / f"{name}.toml") as path:
        return read_toml(path)


def _folder() -> Traversable:
    return resources.files("metamixup.settings") / "recipes"


def _about(file: Traversable) -> str:
    return file.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
