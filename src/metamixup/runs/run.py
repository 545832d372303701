"""A run in its folder: begun, gone on with, or found finished. What the command line and a grid of runs share."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

from metamixup import world
from metamixup.data.folder.workers import Progress
from metamixup.engine.evaluate import evaluate, predict
from metamixup.engine.interrupt import Interrupt, Interrupted
from metamixup.engine.loop import train
from metamixup.engine.records.progress import Listener
from metamixup.engine.records.run_folder import RunFolder
from metamixup.engine.runtime import Runtime
from metamixup.errors import UserError
from metamixup.runs.beforehand import told_before, told_twice
from metamixup.runs.data_again import data_again, located
from metamixup.runs.gallery import write_gallery
from metamixup.runs.lost_classes import lost_classes
from metamixup.runs.new_folder import check_new, refuse_other
from metamixup.runs.saved import load_weights, save_split, save_whitening
from metamixup.runs.temperature import temperature
from metamixup.settings.build import build_data, build_model, build_training, test_set
from metamixup.settings.config import contradiction, read_config, write_config
from metamixup.settings.schema import Settings


def begin(
    folder: RunFolder, settings: Settings, listeners: Sequence[Listener] = (), interrupt: Interrupt | None = None
) -> dict[str, Any]:
    """Train in a folder that holds no run yet; returns the summary.

    Everything is built before the first file is written: a mistake in the settings leaves no trace.
    """
    world.agreed(lambda: check_new(folder, settings))
    go = _prepared(folder, settings, listeners, interrupt)
    with ExitStack() as held:

        def take() -> None:
            held.enter_context(folder.locked())
            refuse_other(folder)  # another process may have been faster
            write_config(folder.config, settings)

        world.agreed(take)
        return go()


def resume(
    folder: RunFolder,
    settings: Settings,
    given: dict[str, Any],
    listeners: Sequence[Listener] = (),
    interrupt: Interrupt | None = None,
) -> dict[str, Any]:
    """Go on with the run in that folder under its own settings, or begin one with `settings` if there is none yet.

    `given` are the dotted settings that the user named; they must not contradict the stored ones. A finished run is
    left as it is.
    """
    found = world.agreed(lambda: _found(folder, given))
    if found is None:
        return begin(folder, settings, listeners, interrupt)
    if found["summary"] is not None:
        return found["summary"]
    with ExitStack() as held:
        world.agreed(lambda: held.enter_context(folder.locked()))
        return _prepared(folder, Settings(**found["settings"]), listeners, interrupt)()


def _found(folder: RunFolder, given: dict[str, Any]) -> dict[str, Any] | None:
    """The run in that folder as plain data, its summary if it is finished; None if there is no run."""
    if not folder.config.exists():
        return None
    stored = read_config(folder.config, list(given.values()))
    problem = contradiction(given, stored)
    if problem:
        raise UserError(f"--resume: {problem} ({folder.config}); drop it or choose another --out")
    return {"settings": stored.model_dump(), "summary": folder.read_summary() if folder.finished else None}


def _prepared(
    folder: RunFolder, settings: Settings, listeners: Sequence[Listener], interrupt: Interrupt | None
) -> Callable[[], dict[str, Any]]:
    """All objects of the run are made; calling the result trains."""
    listeners = listeners if world.leads() else ()
    runtime = Runtime(settings.threads, settings.precision, settings.device)
    found = build_data(settings, _decoding(listeners, interrupt))
    training = build_training(settings, found)
    training.check_shares(world.size())
    refuse_other_data(training.fingerprint)
    lasting: list[str] = []
    if world.leads():  # the others have nobody to tell, and looking through all images takes time
        lasting += told_twice(settings, training, found)
        for text in (*told_before(settings, training, found), *lasting):
            for listener in listeners:
                listener.say(text)

    def before_summary() -> dict[str, Any]:
        tested = next((images for images in training.evaluation if images.name == "test"), None)
        if tested is None:
            return {}
        with runtime.autocast():
            logits, labels = predict(training.evaluated()[1], tested, runtime)
        write_gallery(folder, training, found, logits, labels)
        told = [*lost_classes(training.stage, found.classes), *lasting]
        return {"temperature": temperature(logits, labels), "remarks": told}

    def go() -> dict[str, Any]:
        save_split(folder, training.split)
        save_whitening(folder, found.whiten)
        return train(training, folder, runtime, listeners, interrupt, before_summary)

    return go


def refuse_other_data(fingerprint: str) -> None:
    """Every machine reads its own files; they must hold the same."""
    if world.agreed(lambda: fingerprint) != fingerprint:
        raise UserError("the data that this process reads is not what the first one reads; are the files alike?")


def _decoding(listeners: Sequence[Listener], interrupt: Interrupt | None) -> Progress:
    """Says every tenth part of a folder's images, or once whom it waits for; a folder decoded in one go says nothing.
    A signal ends it."""
    said: set[int | str] = {0}

    def progress(done: int, total: int, waiting_for: str = "") -> None:
        if interrupt is not None and interrupt.asked:
            raise Interrupted("stopped while images were decoded")
        news: int | str = waiting_for or 10 * done // total
        if news not in said and done < total:
            said.add(news)
            text = (
                f"waiting for {waiting_for}, which decodes this folder"
                if waiting_for
                else (f"decoding images, once for this folder: {done} of {total}")
            )
            for listener in listeners:
                listener.say(text)

    return progress


def evaluate_run(folder: RunFolder, data_dir: str | None = None, data: str | None = None) -> dict[str, float]:
    """Scores of a finished run's weights on its test set. `data`: where the user's own images lie now."""
    if not folder.config.exists():
        raise UserError(f"{folder.root} is no run folder: it has no config.toml")
    settings = located(read_config(folder.config), data, data_dir)
    runtime = Runtime(settings.threads, settings.precision, settings.device)
    found = data_again(folder, settings)
    model = build_model(settings, found)
    load_weights(model, folder)
    runtime.adopt(model)
    test = test_set(settings, found)
    with runtime.autocast():
        return {f"test_{key}": round(value, 6) for key, value in evaluate(model, test, runtime).items()}
