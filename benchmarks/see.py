"""What looking costs: the page of 600 epochs and 100 classes, the intrusion study's search, and recording a step.

    python benchmarks/see.py [page] [intrusion] [recording]

Prints one line a figure. Wall-clock times depend on what else the machine does; CPU times hardly do.
"""

import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "report"))


def timed(work: Callable[[], Any]) -> tuple[float, float]:
    """Seconds on the clock and of the processor."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def page() -> None:
    from invented import write_run

    from metamixup.report import write_page

    with tempfile.TemporaryDirectory() as folder:
        run = write_run(Path(folder) / "run", epochs=600, classes=100, steps=40)
        out = Path(folder) / "page.html"
        wall, cpu = timed(lambda: write_page(run, out))
        size = out.stat().st_size / 1e6
        print(f"page, 600 epochs, 100 classes: made in {wall:.1f} s ({cpu:.1f} s of CPU), {size:.1f} MB")
        with opened(out) as (view, seconds):
            print(f"page: interactive after {seconds:.2f} s; the slider draws an epoch in {slide(view):.0f} ms")


def slide(view: Any) -> float:
    """Milliseconds to draw another epoch of the map and the surface."""
    move = (
        "s.value = 3; const t = performance.now(); s.dispatchEvent(new Event('input')); return performance.now() - t;"
    )
    return view.eval_on_selector("#pair-epoch", f"s => {{ {move} }}")


@contextmanager
def opened(page: Path) -> Iterator[tuple[Any, float]]:
    """The page in a browser, and the seconds from opening the file until every chart was drawn and wired."""
    from playwright.sync_api import sync_playwright

    flags = ["--no-sandbox", "--disable-gpu"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=flags)
        view = browser.new_page()
        started = time.perf_counter()
        view.goto(page.as_uri())
        view.wait_for_selector("html[data-ready=true]", state="attached")
        yield view, time.perf_counter() - started
        browser.close()


def intrusion() -> None:
    from metamixup.analysis.intrusion import least_distances

    draw = torch.Generator().manual_seed(0)
    mixed, real = (torch.randn(n, 512, generator=draw).relu() for n in (10_000, 60_000))
    pair, labels = torch.randint(0, 10, (10_000, 2), generator=draw), torch.randint(0, 10, (60_000,), generator=draw)
    wall, cpu = timed(lambda: least_distances(mixed, pair, real, labels))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    threads = torch.get_num_threads()
    print(f"intrusion, 10,000 × 60,000 × 512: {wall:.1f} s ({cpu:.1f} s of CPU, {threads} threads), peak {peak:.0f} MB")


def recording() -> None:
    """A step of the default run on digits and its record, by the processor's time."""
    from metamixup.engine.records.epoch import EpochRecord
    from metamixup.engine.runtime import Runtime
    from metamixup.engine.step import Stepper
    from metamixup.settings.build import build_training
    from metamixup.settings.resolve import resolve

    training = build_training(resolve({"data": "digits"}))
    stepper, record = Stepper(training, Runtime(1), print), EpochRecord(training.num_classes)
    done = [stepper(step) for step in range(5)]
    _, steps = timed(lambda: done.extend(stepper(step) for step in range(5, 105)))
    _, records = timed(lambda: [record.step(one) for one in done])
    _, lines = timed(lambda: (record.line(), record.lambdas.line(), record.extremes.line()))
    share = (records / len(done) + lines / training.steps_per_epoch) / (steps / 100)
    parts = f"{1e6 * records / len(done):.0f} µs a step, {1e3 * lines:.2f} ms an epoch"
    print(f"recording, digits: {100 * share:.2f} % of a step's {10 * steps:.1f} ms ({parts})")


if __name__ == "__main__":
    known = {"page": page, "intrusion": intrusion, "recording": recording}
    for name in sys.argv[1:] or list(known):
        known[name]()
