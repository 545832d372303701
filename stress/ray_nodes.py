"""A grid of 12 runs on a Ray cluster of two nodes on this machine, one of which is killed in the middle.

    python stress/ray_nodes.py

It ends with all 12, and their weights equal those of the same grid run without Ray to the bit.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from small_grid import recipe

METHODS = ["baseline", "mixup", "trustmix", "metamixup-logit"]


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "grid.toml").write_text(recipe(METHODS, seeds=3))
        killed, started = on_ray(folder)
        print(f"on Ray: {count(folder / 'ray')} of 12 runs ended, {killed}; {time.monotonic() - started:.0f} s")
        subprocess.run(command(folder, "local"), check=True, stdout=subprocess.DEVNULL)
        alike = [same(path, folder / "local") for path in sorted((folder / "ray").rglob("model.safetensors"))]
        print(f"{sum(alike)} of {len(alike)} equal the local runner's to the bit")
        return 0 if alike == [True] * 12 else 1


def command(folder: Path, out: str, *more: str) -> list[str]:
    grid = [sys.executable, "-m", "metamixup", "reproduce", str(folder / "grid.toml")]
    return [*grid, "--out", str(folder / out), *more]


def on_ray(folder: Path) -> tuple[str, float]:
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    second = cluster.add_node(num_cpus=1)
    started = time.monotonic()
    grid = subprocess.Popen(command(folder, "ray", "--on", "ray", "--address", cluster.address, "--jobs", "2"))
    try:
        while count(folder / "ray") < 3 and grid.poll() is None:
            time.sleep(0.2)
        going = 12 - count(folder / "ray")
        cluster.remove_node(second, allow_graceful=False)
        if grid.wait() != 0:
            raise SystemExit("the grid failed")
    finally:
        grid.kill()
        cluster.shutdown()
    return f"one node killed with {going} still to do", started


def count(folder: Path) -> int:
    return len(list(folder.rglob("summary.json")))


def same(path: Path, other: Path) -> bool:
    return path.read_bytes() == (other / path.relative_to(path.parents[2])).read_bytes()


if __name__ == "__main__":
    sys.exit(main())
