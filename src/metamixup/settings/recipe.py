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
    files = [file for file in _folder().iterdir() if file.name.endswith(".toml")]
    return dict(sorted((file.name.removesuffix(".toml"), _about(file)) for file in files))


def read_recipe(name: str) -> dict[str, Any]:
    """The dotted settings of a recipe: those of its `base`, where it names one, and its own."""
    if name not in known_recipes():
        raise unknown("recipe", name, known_recipes())
    with resources.as_file(_folder() / f"{name}.toml") as path:
        own = read_toml(path)
    base = own.pop("base", None)
    return {**(read_recipe(base) if base is not None else {}), **own}


def _folder() -> Traversable:
    return resources.files("metamixup.settings") / "recipes"


def _about(file: Traversable) -> str:
    return file.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
