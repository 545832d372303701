"""Nothing that a user can be handed runs code: neither by the source's own words, nor when a hostile file is tried."""

import ast
import hashlib
import os
import pickle
import re
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest
from data.formats import encoded, picture

from metamixup.cli import run

ROOT = Path(__file__).parents[1]
PICKLING = {"pickle", "_pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal", "yaml", "jsonpickle"}
CALLS = {"eval", "exec", "torch.load", "torch.jit.load", "torch.hub.load", "pandas.read_pickle", "pd.read_pickle"}
WRITING = {"extractall", "extract", "unpack_archive"}  # of archives: members are read, never written by their names


def words(source: str) -> list[str]:
    """What in the source could unpickle, run or write what a file holds."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [a.name for a in node.names if a.name.partition(".")[0] in PICKLING]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in PICKLING:
            found.append(str(node.module))
        elif isinstance(node, ast.Call):
            found += doubtful(node)
    return found


def doubtful(call: ast.Call) -> list[str]:
    name = ast.unparse(call.func)
    safe = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
    if name in ("torch.load", "load") and safe.get("weights_only") == "True":
        return []
    if name in ("np.load", "numpy.load"):
        return [] if safe.get("allow_pickle") == "False" else [name]
    return [name] if name in CALLS or name.rpartition(".")[2] in WRITING else []


@pytest.mark.parametrize("folder", ["src", "examples", "benchmarks", "stress", "tools"])
def test_no_source_unpickles_or_unpacks(folder):
    found = {str(p.relative_to(ROOT)): words(p.read_text()) for p in (ROOT / folder).rglob("*.py")}
    assert found
    assert {path: found for path, found in found.items() if found} == {}


def test_the_words_are_found():
    source = "import pickle\nfrom joblib import load\ntorch.load(f)\nnp.load(f)\neval(x)\ntar.extractall(p)\n"
    assert words(source) == ["pickle", "joblib", "torch.load", "np.load", "eval", "tar.extractall"]
    assert words("np.load(f, allow_pickle=False)\ntorch.load(f, weights_only=True)\nmodel.eval()") == []


class Bomb:
    """Unpickled, it leaves a mark."""

    def __init__(self, mark: Path):
        self.mark = mark

    def __reduce__(self):
        return os.mkdir, (str(self.mark),)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A small run of two classes, and the data that it was trained on."""
    folder = tmp_path_factory.mktemp("trained")
    pixels = np.random.default_rng(0).integers(0, 256, (40, 8, 8, 3), dtype=np.uint8)
    labels = np.arange(40) % 2
    np.savez(folder / "data.npz", x_train=pixels, y_train=labels, x_test=pixels[:8], y_test=labels[:8])
    given = ["--data", str(folder / "data.npz"), "--epochs", "1", "--batch-size", "10", "--threads", "1"]
    assert run(["train", *given, "--set", "meta.per_class=4", "--out", str(folder / "run")]) == 0
    (folder / "image.png").write_bytes(encoded(picture(8, 8)))
    return folder


@pytest.fixture
def place(trained, tmp_path, monkeypatch):
    """A copy to be spoilt, as the current folder; `config.toml` names the data by its old place."""
    shutil.copytree(trained, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def bombs(mark: Path) -> dict[str, bytes]:
    plain = pickle.dumps(Bomb(mark))
    return {"pickle": plain, "old pickle": pickle.dumps(Bomb(mark), 0), "torch": _as_torch(plain, mark.parent)}


def _as_torch(content: bytes, folder: Path) -> bytes:
    """The archive that torch.save writes, by hand."""
    path = folder / "archive.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", content)
        archive.writestr("archive/version", "3\n")
    return path.read_bytes()


# The file that is hostile, and the command that a user would give with it.
HOSTILE = [
    ("run/model.safetensors", "evaluate run"),
    ("run/model.safetensors", "predict run image.png"),
    ("run/model.safetensors", "export run"),
    ("run/model.safetensors", "train --weights run --data data.npz --epochs 1 --out tuned"),
    ("weights.safetensors", "train --weights weights.safetensors --data data.npz --epochs 1 --out tuned"),
    ("weights.pt", "train --weights weights.pt --data data.npz --epochs 1 --out tuned"),
    ("run/config.toml", "evaluate run"),
    ("run/summary.json", "predict run image.png"),
    ("run/summary.json", "report run --out page.html"),
    ("run/metrics.jsonl", "report run --out page.html"),
    ("run/lambda.jsonl", "report run --out page.html"),
    ("run/gallery.json", "report run --out page.html"),
    ("run/split.safetensors", "train --resume --out run"),
    ("run/checkpoint", "train --resume --out run"),
    ("settings.toml", "train --config settings.toml --out tuned"),
    ("table.toml", "reproduce table.toml"),
    ("image.png", "predict run image.png"),
    ("data.npz", "train --data data.npz --out tuned"),
    ("data.npy", "train --data data.npy --out tuned"),
    ("data.pkl", "train --data data.pkl --out tuned"),
    ("data.parquet", "train --data data.parquet --out tuned"),
    ("svhn/train_32x32.mat", "train --data svhn --data-dir svhn --out tuned"),
    ("mnist/train-images-idx3-ubyte", "train --data mnist --data-dir mnist --out tuned"),
    ("cifar/cifar-10-batches-bin/data_batch_1.bin", "train --data cifar10 --data-dir cifar --out tuned"),
    ("cifar/cifar-10-binary.tar.gz", "train --data cifar10 --data-dir cifar --out tuned"),
    ("cifar/cifar-10-batches-py/data_batch_1", "train --data cifar10 --data-dir cifar --out tuned"),
    ("photos/cat/1.png", "train --data photos --out tuned"),
]


def spoil(place: Path, file: str, content: bytes) -> None:
    if file == "run/checkpoint":  # with a checksum that fits, as an attacker would
        digest = hashlib.blake2b(content, digest_size=16).hexdigest()
        file = f"run/checkpoints/step-999999999-{digest}.safetensors"
    if file.startswith(("run/checkpoints", "run/split")):
        (place / "run" / "summary.json").unlink()  # the run is to go on
    (place / file).parent.mkdir(parents=True, exist_ok=True)
    (place / file).write_bytes(content)


@pytest.mark.parametrize("kind", ["pickle", "old pickle", "torch"])
@pytest.mark.parametrize(("file", "command"), HOSTILE, ids=lambda text: text.replace(" ", "_"))
def test_a_hostile_file_runs_nothing(place, file, command, kind, capsys):
    mark = place / "mark"
    spoil(place, file, bombs(mark)[kind])
    code = run(command.split())
    assert not mark.exists()
    told = capsys.readouterr().err
    # Records of a page are left out and told on it, a damaged checkpoint is passed over; all else is refused.
    assert code in (2, 3) or "report" in command or "checkpoint" in file, told


def test_a_data_file_that_changed_under_a_run_is_noticed(place, capsys):
    (place / "run" / "summary.json").unlink()
    config, data = place / "run" / "config.toml", place / "data.npz"
    stored = dict(np.load(data))
    stored["x_train"][3, 2, 1, 0] ^= 1
    np.savez(data, **stored)
    config.write_text(
        "\n".join(f'data = "{data}"' if line.startswith("data =") else line for line in config.read_text().splitlines())
    )
    assert run(["train", "--resume", "--out", "run"]) == 2
    assert "the data is not what this run began with" in capsys.readouterr().err


def test_an_array_of_objects_is_refused(place, capsys):
    mark = place / "mark"
    objects = np.array([Bomb(mark)] * 40, dtype=object)
    np.savez(place / "data.npz", x_train=objects, y_train=np.arange(40) % 2)
    assert run(["train", "--data", "data.npz", "--out", "tuned"]) == 2
    assert not mark.exists()
    assert "Python objects" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["evaluate run", "predict run image.png", "export run", "train --resume --out run"])
def test_a_model_of_code_in_a_run_folder_is_not_imported(place, command, capsys):
    """`config.toml` may name a function of a module that was handed over with it."""
    (place / "planted.py").write_text("import os\nos.mkdir('mark')\ndef net(num_classes): pass\n")
    config = place / "run" / "config.toml"
    config.write_text(re.sub("(?m)^model = .*$", 'model = "planted:net"', config.read_text()))
    assert "planted:net" in config.read_text()
    if "--resume" in command:
        (place / "run" / "summary.json").unlink()
    assert run(command.split()) == 2
    assert not (place / "mark").exists()
    assert "METAMIXUP_TRUST=planted:net" in capsys.readouterr().err


def test_a_model_of_code_is_used_by_those_who_name_it(place, monkeypatch):
    (place / "own_net.py").write_text(
        "from torch import nn\n"
        "def net(num_classes, in_channels):\n"
        "    return nn.Sequential(nn.Flatten(), nn.Linear(64 * in_channels, num_classes))\n"
    )
    given = ["--data", "data.npz", "--epochs", "1", "--threads", "1", "--batch-size", "10", "--out", "own"]
    assert run(["train", *given, "--model", "own_net:net", "--set", "meta.per_class=4"]) == 0
    assert run(["train", "--resume", "--model", "own_net:net", "--out", "own"]) == 0
    assert run(["evaluate", "own"]) == 2
    monkeypatch.setenv("METAMIXUP_TRUST", "own_net:net")
    assert run(["evaluate", "own"]) == 0


LINKS = ["page.html", ".lock", "export/MODEL_CARD.md", "export/model.safetensors", "metrics.jsonl", "lambda.jsonl"]
LINKS += ["summary.json", "model.safetensors", "gallery.json", "checkpoints", "export", "tensorboard"]


@pytest.mark.parametrize("name", LINKS)
@pytest.mark.parametrize("command", ["report run", "export run", "train --resume --tensorboard --out run"])
def test_a_link_in_a_handed_run_folder_is_not_written_through(place, name, command, capsys):
    """`page.html` of a handed folder could be a link to any file of the user's."""
    own = place / "own"
    own.mkdir()
    (own / "file").write_text("mine")
    link = place / "run" / name
    if "--resume" in command:
        (place / "run" / "summary.json").unlink()
    is_folder = name in ("checkpoints", "export", "tensorboard")
    shutil.rmtree(link) if link.is_dir() else link.unlink(missing_ok=True)
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(own if is_folder else own / "file")
    assert run(command.split()) in (0, 2)
    assert [p.name for p in own.iterdir()] == ["file"]
    assert (own / "file").read_text() == "mine"
