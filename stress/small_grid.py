"""A grid of small runs on the embedded digits, for scripts that disturb one."""

from collections.abc import Sequence

FRAME = """title = "Small"
reference = "mixup"
[rows]
{rows}
[full]
seeds = {seeds}
[full.base]
epochs = {epochs}
batch_size = 128
subset = 600
[[full.columns]]
data = "digits"
model = "cnn3"
rows = {names}
cost = 1
[full.columns.published]
mixup = 1.0
[quick]
seeds = 1
[[quick.columns]]
data = "digits"
model = "cnn3"
cost = 1
"""


def recipe(methods: Sequence[str] = ("mixup",), seeds: int = 1, epochs: int = 12) -> str:
    """As TOML: every method with every seed."""
    rows = "\n".join(f"{method} = {{}}" for method in methods)
    return FRAME.format(rows=rows, names=str(list(methods)).replace("'", '"'), seeds=seeds, epochs=epochs)
