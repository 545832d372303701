"""A finished run for use elsewhere: weights, ONNX or a torch.export program, each checked against the original.

ONNX and pt2 take pixels in 0…1 and normalise them themselves; a batch may have any size.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from metamixup.engine.records.folder import RunFolder
from metamixup.engine.train import load_weights
from metamixup.errors import UserError, unknown
from metamixup.runs.model_card import model_card
from metamixup.runs.predict import Inputs, read_inputs
from metamixup.settings.build import model_for
from metamixup.settings.resolve import read_config

TOLERANCE = 1e-5
Written = Callable[[Tensor], Tensor]  # what was written, as a function of pixels


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
    inputs, path = read_inputs(folder), to or folder.root / "export" / f"model.{form}"
    model = deployed(folder, inputs)
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = torch.rand(4, *inputs.shape, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        written = FORMS[form](model, pixels, path)
        difference = max(_difference(model(x), written(x)) for x in (pixels, pixels[:1]))
    if not difference <= TOLERANCE:
        raise UserError(f"{path} does not agree with the original: its logits differ by {difference:.1e}")
    card = path.with_name("MODEL_CARD.md")
    card.write_text(model_card(folder.read_summary(), read_config(folder.config), path, difference), encoding="utf-8")
    return Exported(path, card, difference)


def deployed(folder: RunFolder, inputs: Inputs) -> Deployed:
    if inputs.whitened:
        raise UserError(
            f"{folder.root} was trained on whitened images (pixels = 'zca'), and their whitening is not exported"
        )
    model = model_for(read_config(folder.config), len(inputs.classes), inputs.shape)
    load_weights(model, folder)
    return Deployed(model, inputs).eval()


def to_safetensors(model: Deployed, pixels: Tensor, path: Path) -> Written:
    from safetensors.torch import load_file, save_file

    save_file({name: tensor.contiguous() for name, tensor in model.model.state_dict().items()}, path)
    return lambda x: torch.func.functional_call(model, {f"model.{n}": t for n, t in load_file(path).items()}, (x,))


def to_onnx(model: Deployed, pixels: Tensor, path: Path) -> Written:
    import onnxruntime

    torch.onnx.export(
        *(model, (pixels,), path),
        input_names=["pixels"],
        output_names=["logits"],
        dynamic_shapes=({0: torch.export.Dim("batch")},),
        dynamo=True,
        external_data=False,
        verbose=False,
    )
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return lambda x: torch.from_numpy(session.run(None, {"pixels": x.numpy()})[0])


def to_pt2(model: Deployed, pixels: Tensor, path: Path) -> Written:
    program = torch.export.export(model, (pixels,), dynamic_shapes=({0: torch.export.Dim("batch")},))
    torch.export.save(program, path)
    return torch.export.load(path).module()


FORMS: dict[str, Callable[[Deployed, Tensor, Path], Any]] = {
    "safetensors": to_safetensors,
    "onnx": to_onnx,
    "pt2": to_pt2,
}


def _difference(original: Tensor, found: Tensor) -> float:
    return float((original - found).abs().max() / original.abs().max().clamp_min(1))
