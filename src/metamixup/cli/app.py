"""The commands, put together. Heavy imports wait until a command runs."""

import typer

from metamixup import __version__
from metamixup.cli.audit import audit
from metamixup.cli.bench import bench
from metamixup.cli.data import data
from metamixup.cli.doctor import doctor
from metamixup.cli.evaluate import evaluate
from metamixup.cli.export import export
from metamixup.cli.ls import ls
from metamixup.cli.predict import predict
from metamixup.cli.report import report
from metamixup.cli.reproduce import reproduce
from metamixup.cli.study import study
from metamixup.cli.table import table
from metamixup.cli.train import train
from metamixup.cli.watch import watch

app = typer.Typer(
    name="metamixup",
    help="Train classifiers with learned data mixing.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)


def _version(asked: bool) -> None:
    if asked:
        print(f"metamixup {__version__}")
        raise typer.Exit


@app.callback()
def metamixup(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    pass


app.command()(train)
app.command()(evaluate)
app.command()(reproduce)
app.command()(table)
app.command()(ls)
app.command()(predict)
app.add_typer(data, name="data")
app.command()(report)
app.command()(audit)
app.command()(export)
app.command()(doctor)
app.command()(bench)
app.command()(study)
app.command()(watch)
