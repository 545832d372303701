"""`metamixup ls`: the names that `metamixup train` takes."""

from typing import Annotated

import typer

from metamixup.errors import unknown

KINDS = ("methods", "models", "data", "recipes")


def ls(
    kind: Annotated[str | None, typer.Argument(help="methods, models, data or recipes; all when left out.")] = None,
) -> None:
    """List methods, models, data sets and recipes."""
    if kind is not None and kind not in KINDS:
        raise unknown("list", kind, KINDS)
    for one in [kind] if kind else KINDS:
        names = _names(one)
        width = max(map(len, names))
        if kind is None:
            print(f"{one}:")
        for name, about in names.items():
            print(f"  {name:<{width}}  {about}".rstrip())


def _names(kind: str) -> dict[str, str]:
    if kind == "methods":
        from metamixup.settings.methods import METHODS

        return {name: entry.about for name, entry in METHODS.items()}
    if kind == "models":
        from metamixup.models import known_models

        return dict.fromkeys(known_models(), "")
    if kind == "recipes":
        from metamixup.settings.recipe import known_recipes

        return known_recipes()
    from metamixup.data.known import KNOWN

    return {name: known.what for name, known in KNOWN.items()}
