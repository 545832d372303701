"""A finished run for use elsewhere: weights, ONNX or a torch.export program, each checked against the original.

ONNX and pt2 take pixels in 0…1 and normalise them themselves; a batch may have any size.
"""

import io
import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from metamixup.engine.records.run_folder import RunFolder
from metamixup.errors import UserError, unknown
from metamixup.runs.model_card import NEEDED, model_card
from metamixup.runs.predict import Inputs, read_inputs
from metamixup.runs.saved import load_weights
from metamixup.settings.build import model_for
from metamixup.settings.config import read_config
from metamixup.storage import check_output, make_folder, write_output

TOLERANCE = 1e-5
Answer = Callable[[Tensor], Tensor]  # what the written bytes answer to pixels


@dataclass(frozen=True)
class Exported:
    """`difference`: the largest of the logits' from the original's; where logits are over 1, as a share of them."""

    path: Path
    card: Path
    difference: float


class Deployed(nn.Module):
    """(B, C, H, W) pixels in 0…1 → (B, classes) logits."""

    mean: Tensor
    std: Tensor

    def __init__(self, model: nn.Module, inputs: Inputs):
        super().__init__()
        self.model = model
        for name in ("mean", "std"):
            self.register_buffer(name, torch.tensor(getattr(inputs, name)).view(1, -1, 1, 1))

    def forward(self, pixels: Tensor) -> Tensor:
        return self.model((pixels - self.mean) / self.std)


def export_run(folder: RunFolder, form: str, to: Path | None = None) -> Exported:
    """Write the run's model in that form, and its model card beside it."""
    if form not in FORMS:
        raise unknown("format", form, FORMS)
    if not folder.finished:
        raise UserError(f"{folder.root} holds no finished run (no summary.json)")
    summary = folder.read_summary()
    missing = [key for key in NEEDED if key not in summary]
    if missing:
        raise UserError(f"{folder.summary} lacks {', '.join(missing)}, which the model card tells")
    inputs, path = read_inputs(folder), to or make_folder(folder.root / "export") / f"model.{form}"
    card = path.with_name("MODEL_CARD.md")
    for file in (path, card):
        check_output(file)
    model = deployed(folder, inputs)
    pixels = torch.rand(4, *inputs.shape, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        content, answer = FORMS[form](model, pixels)
        difference = max(_difference(model(x), answer(x)) for x in (pixels, pixels[:1]))
    if not difference <= TOLERANCE:
        raise UserError(f"the {form} form does not agree with the original: its logits differ by {difference:.1e}")
    write_output(path, content)
    write_output(card, model_card(summary, read_config(folder.config), path, form, difference))
    return Exported(path, card, difference)


def deployed(folder: RunFolder, inputs: Inputs) -> Deployed:
    if inputs.whitened:
        raise UserError(
            f"{folder.root} was trained on whitened images (pixels = 'zca'), and their whitening is not exported"
        )
    model = model_for(read_config(folder.config), len(inputs.classes), inputs.shape)
    load_weights(model, folder)
    return Deployed(model, inputs).eval()


def to_safetensors(model: Deployed, pixels: Tensor) -> tuple[bytes, Answer]:
    from safetensors.torch import load, save

    content = save({name: tensor.contiguous() for name, tensor in model.model.state_dict().items()})
    stored = {f"model.{name}": tensor for name, tensor in load(content).items()}
    return content, lambda x: torch.func.functional_call(model, stored, (x,))


def to_onnx(model: Deployed, pixels: Tensor) -> tuple[bytes, Answer]:
    import onnxruntime

    with _without_notes_to_programmers():
        program = torch.onnx.export(
            *(model, (pixels,)),
            input_names=["pixels"],
            output_names=["logits"],
            dynamic_shapes=({0: torch.export.Dim("batch")},),
            dynamo=True,
            external_data=False,
            verbose=False,
        )
    assert program is not None
    content = program.model_proto.SerializeToString()
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    return content, lambda x: torch.from_numpy(session.run(None, {"pixels": x.numpy()})[0])


@contextmanager
def _without_notes_to_programmers() -> Iterator[None]:
    """torch's ONNX exporter says that torchvision, which no model here needs, is not installed, and that it calls a
    deprecated function of its own. All else is let through."""

    def wanted(record: logging.LogRecord) -> bool:
        return "torchvision is not installed" not in record.getMessage()

    registration = logging.getLogger("torch.onnx._internal.exporter._registration")
    registration.addFilter(wanted)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", r".*isinstance\(treespec, LeafSpec\)", FutureWarning)
            yield
    finally:
        registration.removeFilter(wanted)


def to_pt2(model: Deployed, pixels: Tensor) -> tuple[bytes, Answer]:
    program, content = (
        torch.export.export(model, (pixels,), dynamic_shapes=({0: torch.export.Dim("batch")},)),
        io.BytesIO(),
    )
    torch.export.save(program, content)
    content.seek(0)
    return content.getvalue(), torch.export.load(content).module()


FORMS: dict[str, Callable[[Deployed, Tensor], tuple[bytes, Answer]]] = {
    "safetensors": to_safetensors,
    "onnx": to_onnx,
    "pt2": to_pt2,
}


def _difference(original: Tensor, found: Tensor) -> float:
    return float((original - found).abs().max() / original.abs().max().clamp_min(1))
