import io

from rich.console import Console

from metamixup.engine.records.progress import Bars, PlainLines, epoch_text

LINE = {"epoch": 2, "step": 8, "lr": 0.05, "losses": {"supervised": 1.25}, "seconds": 1.5, "images_per_second": 400.0}
TESTED = {**LINE, "train_error": 3.0, "meta_error": 4.0, "test_error": 5.125}


def watch(listener):
    listener.started(epochs=3, steps_per_epoch=4, step=0)
    listener.stepped(1, 2.5)
    listener.say("[bold]a name with markup[/bold]")
    listener.epoch(TESTED, {})
    listener.stopped()


def test_plain_lines():
    stream = io.StringIO()
    watch(PlainLines(stream))
    said, line = stream.getvalue().splitlines()
    assert said == "[bold]a name with markup[/bold]"
    assert line.startswith("epoch 2/3  supervised 1.2500  error train 3.00% meta 4.00% test 5.12%  lr 0.05  1.5s")


def test_an_epoch_that_was_not_tested():
    assert "error" not in epoch_text(LINE, 3)


def test_a_terminal_sees_a_bar_with_loss_error_and_time_left():
    stream = io.StringIO()
    watch(Bars(Console(file=stream, force_terminal=True, width=100)))
    text = stream.getvalue()
    assert "loss 2.5" in text
    assert "test error 5.12%" in text
    assert "[bold]a name with markup[/bold]" in text
    assert "2/3" in text
