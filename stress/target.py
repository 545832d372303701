"""What mutate.py attacks: a finished run and a finished grid, their data, and a neighbour that nobody may touch."""

import contextlib
import io
import shutil
import traceback
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from small_grid import recipe

from metamixup import cli
from metamixup.cli import app  # noqa: F401, imported once for all attacks
from metamixup.engine import checkpoint
from metamixup.engine.records.run_folder import RunFolder
from metamixup.engine.runtime import Runtime
from metamixup.engine.step import Stepper
from metamixup.settings.build import build_data, build_training
from metamixup.settings.config import read_config

TRAIN = ["--epochs", "2", "--batch-size", "10", "--threads", "1", "--model", "cnn3", "--set", "meta.per_class=4"]


@dataclass
class Attack:
    """What was done, the exit code, and what was said."""

    what: str
    code: int
    said: str
    garbage: bool = False  # must it be refused?


class Target:
    """`run` and `grid` are copies that an attack may alter, in the folder `work`."""

    def __init__(self, root: Path):
        self.root, self.sound, self.work = root, root / "sound", root / "work"
        self.run, self.grid, self.file = self.work / "run", self.work / "grid", root / "data.npz"
        self.neighbour = root / "neighbour"
        self.neighbour.mkdir()
        (self.neighbour / "file").write_text("mine")
        self.write_data()
        (root / "grid.toml").write_text(recipe(["mixup", "trustmix"], epochs=2))
        self.succeed("train", "--data", str(self.file), *TRAIN, "--out", str(self.sound / "run"))
        self.succeed("reproduce", str(root / "grid.toml"), "--jobs", "1", "--out", str(self.sound / "grid"))
        self.prepare_steps()

    def write_data(self) -> None:
        pixels = np.random.default_rng(0).integers(0, 256, (40, 8, 8, 3), dtype=np.uint8)
        labels = np.arange(40) % 2
        np.savez(self.file, x_train=pixels, y_train=labels, x_test=pixels[:8], y_test=labels[:8])
        self.data = self.file.read_bytes()

    def succeed(self, *arguments: str) -> None:
        done = command(*arguments)
        if done.code:
            raise SystemExit(done.said)

    def prepare_steps(self) -> None:
        """The parts of the run, so that a checkpoint can be loaded without a new start."""
        settings = read_config(RunFolder(self.sound / "run").config)
        images = build_data(settings)
        self.make = lambda: build_training(settings, images)
        self.runtime = Runtime(1, device="cpu")
        self.renew()
        found, _ = checkpoint.newest(self.sound / "run" / "checkpoints")
        assert found is not None
        self.found = found

    def renew(self) -> None:
        self.training = self.make()
        self.stepper = Stepper(self.training, self.runtime, print)

    def fresh(self, name: str = "run") -> Path:
        """`run` or `grid` as it was."""
        shutil.rmtree(self.work, ignore_errors=True)
        shutil.copytree(self.sound / name, self.work / name)
        self.file.write_bytes(self.data)
        return self.work / name

    def touched(self) -> bool:
        known = {"sound", "work", "neighbour", "data.npz", "grid.toml"}
        strange = {path.name for path in self.root.iterdir()} - known
        return bool(strange) or [p.name for p in self.neighbour.iterdir()] != ["file"]


def command(*arguments: str) -> Attack:
    said, code = io.StringIO(), 99
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            code = cli.run([*arguments])
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else 1
        except Exception:
            traceback.print_exc()
    return Attack(" ".join(arguments), code, said.getvalue())
