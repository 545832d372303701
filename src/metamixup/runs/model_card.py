"""The page that goes with an exported model: what it is, what it was trained on, how good it is, how to load it."""

import json
from pathlib import Path
from typing import Any

import tomli_w

from metamixup.engine.records.summary_check import worth_telling
from metamixup.settings.schema import Settings

NEEDED = ("model", "data", "method", "version", "images", "input", "classes", "parameters")  # of the summary
LOADING = {
    "onnx": """session = onnxruntime.InferenceSession("{file}")
(logits,) = session.run(None, {{"pixels": pixels}})  # float32 NumPy array, pixels in 0…1""",
    "pt2": """model = torch.export.load("{file}").module()
logits = model(pixels)  # float32 tensor, pixels in 0…1""",
    "safetensors": """model = metamixup.models.build("{model}", {classes}, {channels}, {size})
model.load_state_dict(safetensors.torch.load_file("{file}"))
mean, std = (torch.tensor(values).view(-1, 1, 1) for values in ({mean}, {std}))
logits = model.eval()((pixels - mean) / std)  # float32 tensor, pixels in 0…1""",
}


def model_card(summary: dict[str, Any], settings: Settings, path: Path, form: str, difference: float) -> str:
    """Markdown; `form` is how the file at `path` was written, whatever its name."""
    return CARD.format(
        title=f"{summary['model']} on {summary['data']}, trained with {summary['method']}",
        version=summary["version"],
        images=", ".join(f"{n:,} {name}" for name, n in summary["images"].items() if n),
        shape="×".join(map(str, summary["input"]["shape"])),
        classes=", ".join(summary["classes"]),
        parameters=f"{summary['parameters']:,}",
        scores=_scores(summary),
        loading=_loading(summary, path, form),
        sureness=_sureness(summary.get("temperature", 1.0)),
        file=path.name,
        difference=f"{difference:.1e}",
        settings=tomli_w.dumps(json.loads(settings.model_dump_json(exclude_none=True))).strip(),
    )


def _scores(summary: dict[str, Any]) -> str:
    known = {
        "test_error": "error, %",
        "test_error_views": "error over several views of each image, %",
        "test_error_top5": "top-5 error, %",
        "test_nll": "negative log-likelihood",
        "test_ece": "expected calibration error, %",
    }
    telling = worth_telling(known, len(summary["classes"]))
    rows = [f"| {name} | {summary[key]:.4g} |" for key, name in telling.items() if summary.get(key) is not None]
    return "\n".join(["| on the test set | |", "|---|---|", *rows])


def _sureness(temperature: float) -> str:
    if temperature == 1:
        return "`softmax(logits)` are probabilities."
    return (
        f"`softmax(logits / {temperature:.4g})` are probabilities: so divided, they are on average as sure as the "
        "answers to the test images were right."
    )


def _loading(summary: dict[str, Any], path: Path, form: str) -> str:
    channels, *size = summary["input"]["shape"]
    return LOADING[form].format(
        file=path.name,
        model=summary["model"],
        classes=len(summary["classes"]),
        channels=channels,
        size=tuple(size),
        mean=summary["input"]["mean"],
        std=summary["input"]["std"],
    )


CARD = """# {title}
Made by metamixup {version}. {parameters} parameters.

## Data
{images} images of {shape} (channels × height × width). Classes: {classes}.

## Quality
{scores}

The weights are those of the last epoch; the test set has chosen nothing. These numbers hold for images drawn as the
test set was; on other images the model answers just as surely, and may be wrong.

## Use
```python
{loading}
```
{sureness}

`{file}` agrees with the trained model: its logits differ by {difference} at most.

## Settings
```toml
{settings}
```
"""
