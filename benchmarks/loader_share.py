"""The share of a training step that reading its batches takes: cnn3, MetaMixUp, on Fashion-MNIST where it is found.

python benchmarks/loader_share.py [--data fashion] [--data-dir D] [--steps 60]
"""

import argparse

from metamixup.engine.runtime import Runtime
from metamixup.engine.step import Stepper
from metamixup.settings.build import build_training
from metamixup.settings.resolve import resolve


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="fashion")
    parser.add_argument("--data-dir")
    parser.add_argument("--steps", type=int, default=60)
    chosen = parser.parse_args()
    given = {"data": chosen.data, "method": "trustmix", "model": "cnn3"}
    settings = resolve(given | ({"data_dir": chosen.data_dir} if chosen.data_dir else {}))
    step = Stepper(build_training(settings), Runtime(settings.threads), print)
    step(0)  # the first step warms up
    seconds = [step(t).seconds for t in range(1, chosen.steps)]
    loader, total = (sum(s[part] for s in seconds) for part in ("loader", "total"))
    print(
        f"{chosen.data}: the loader takes {100 * loader / total:.1f} % of a step of {1e3 * total / len(seconds):.1f} ms"
    )


if __name__ == "__main__":
    main()
