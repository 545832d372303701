"""`metamixup doctor`: what this machine has, and whether the method works on it."""

import json
import platform
from typing import Annotated, Any

import typer

EXTRAS = {
    "core": ("torch", "numpy"),
    "cli": (
        *("lightning-fabric", "pydantic", "typer", "rich", "safetensors"),
        *("scipy", "scikit-learn", "pillow", "tomli-w"),
    ),
    "report": ("matplotlib", "plotly", "jinja2", "tensorboard"),
    "hub": ("datasets",),
    "ray": ("ray",),
    "onnx": ("onnx", "onnxscript", "onnxruntime"),
    "integrations": ("lightning", "skorch", "accelerate"),
}


def doctor(
    data_dir: Annotated[str | None, typer.Option(help="Where data files lie; else $METAMIXUP_DATA.")] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Tell versions, threads, devices and data found, and test the method for about five seconds."""
    found = examine(data_dir)
    if json_:
        print(json.dumps(found, indent=1))
    else:
        _show(found)
    if not found["self_test"]["passed"]:
        raise typer.Exit(1)


def examine(data_dir: str | None) -> dict[str, Any]:
    from dataclasses import asdict

    from metamixup import __version__
    from metamixup.runs.self_test import self_test

    tested = self_test()
    return {
        "metamixup": __version__,
        "python": f"{platform.python_version()} on {platform.system()} {platform.machine()}",
        "packages": {extra: {name: _version(name) for name in names} for extra, names in EXTRAS.items()},
        "threads": _threads(),
        "devices": _devices(),
        "data": _data(data_dir),
        "self_test": {**asdict(tested), "passed": tested.passed},
    }


def _version(package: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _threads() -> dict[str, Any]:
    import os

    import torch

    from metamixup.engine.runtime import usable_threads

    return {"cores": os.cpu_count(), "usable": usable_threads(), "torch": torch.get_num_threads()}


def _devices() -> list[str]:
    import torch

    cuda = [torch.cuda.get_device_name(k) for k in range(torch.cuda.device_count())]
    return [f"cpu ({torch.backends.cpu.get_cpu_capability()})", *cuda]


def _data(data_dir: str | None) -> dict[str, str | None]:
    from metamixup.data.known import KNOWN
    from metamixup.errors import DataError

    found: dict[str, str | None] = {"digits": "built in"}
    for name, known in KNOWN.items():
        try:
            found[name] = str(known.located(name, data_dir))
        except DataError:
            found[name] = None
    return found


def _show(found: dict[str, Any]) -> None:
    print(f"metamixup {found['metamixup']}, Python {found['python']}")
    for extra, packages in found["packages"].items():
        missing = [name for name, version in packages.items() if version is None]
        print(f"  {extra:<13}" + ", ".join(f"{name} {version}" for name, version in packages.items() if version))
        if missing:
            print(f"  {'':<13}missing: {', '.join(missing)}; pip install 'metamixup[{extra}]'")
    threads, tested = found["threads"], found["self_test"]
    print(f"threads: {threads['usable']} usable of {threads['cores']} cores (torch now uses {threads['torch']})")
    print(f"devices: {', '.join(found['devices'])}")
    print("data:")
    for name, place in found["data"].items():
        print(f"  {name:<16}{place or 'not found; give --data-dir or set $METAMIXUP_DATA'}")
    print(f"self-test: {'passed' if tested['passed'] else 'FAILED'}")
    print(f"  gradient of λ is that of central differences to {tested['gradient_error']:.0e}")
    speed = f"{tested['steps']} steps, {tested['steps_per_second']:.0f} a second"
    print(f"  short training on digits: {100 * tested['error']:.1f} % error after {speed}")
