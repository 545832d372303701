"""How long the page of an audit takes to open in Chromium, until its first images are drawn.

    METAMIXUP_DATA=… python benchmarks/audit_page.py --work FOLDER [--data cifar10] [--times 5]

The findings are made up: what counts is their number, and the images are real. CPU seconds are those of the browser's
processes; on a busy machine they tell more than the clock. Needs Linux.
"""

import argparse
import os
import shutil
import time
from contextlib import suppress
from pathlib import Path
from statistics import median

from playwright.sync_api import Browser, sync_playwright

from metamixup.audit.findings import Audit, Finding
from metamixup.audit.images import Labelled, labelled_images
from metamixup.report.audit import write_audit_page

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking"]
DRAWN = "document.querySelectorAll('canvas.thumb:not([data-drawn])').length === 0 && large.dataset.drawn !== undefined"


def made_up(found: Labelled) -> Audit:
    count, classes = len(found.labels), found.classes
    findings = [
        Finding(found.names[k], classes[label], classes[(label + 1) % len(classes)], 1 - place / count, "label", k)
        for place, (k, label) in enumerate(
            sorted(enumerate(found.labels.tolist()), key=lambda pair: pair[0] * 7919 % count)
        )
    ]
    return Audit(found.name, count, classes, 0.2, 0.19, 0.21, findings)


def seconds_to_open(browser: Browser, page: Path) -> tuple[float, float]:
    """By the clock, and of CPU."""
    context = browser.new_context()
    view, started, spent = context.new_page(), time.perf_counter(), cpu_seconds_of_children()
    view.goto(page.resolve().as_uri(), wait_until="commit")
    view.wait_for_selector("html[data-ready=true]", state="attached")
    view.wait_for_function(DRAWN)
    taken = time.perf_counter() - started, cpu_seconds_of_children() - spent
    context.close()
    return taken


def cpu_seconds_of_children() -> float:
    """Of all processes that this one has started, and theirs."""
    fields = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields[int(stat.parent.name)] = stat.read_text().rpartition(")")[2].split()
    ours = {os.getpid()}
    for _ in range(5):  # generations
        ours |= {process for process, field in fields.items() if int(field[1]) in ours}
    ticks = sum(int(fields[process][k]) for process in ours - {os.getpid()} for k in (11, 12))
    return ticks / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--data", default="cifar10")
    parser.add_argument("--times", type=int, default=5)
    options = parser.parse_args()
    found, page = labelled_images(options.data), options.work / "audit.html"
    write_audit_page(made_up(found), found.images, page)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        taken = [seconds_to_open(browser, page) for _ in range(options.times)]
        browser.close()
    clock, cpu = (median(column) for column in zip(*taken, strict=True))
    print(f"{len(found.labels):,} images, {page.stat().st_size / 1e6:.1f} MB: {clock:.2f} s, {cpu:.2f} CPU s (medians)")


if __name__ == "__main__":
    main()
