"""`metamixup data`: what data sets there are, what is in one, and what it looks like."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from metamixup.cli.columns import print_columns

if TYPE_CHECKING:
    from metamixup.data.check import Findings
    from metamixup.data.known import Known

data = typer.Typer(help="Look at data sets: list, check, peek.", no_args_is_help=True, rich_markup_mode="rich")

Name = Annotated[str, typer.Argument(metavar="NAME|PATH", help="A data set's name, or a folder or file.")]
DataDir = Annotated[str | None, typer.Option(help="Where data files lie; else $METAMIXUP_DATA.")]
ImageSize = Annotated[int | None, typer.Option(help="Scale and crop images of a folder to this size.")]

SHOWN = 20


@data.command()
def ls(data_dir: DataDir = None) -> None:
    """The data sets known by name, where they were found, their size and licence."""
    from metamixup.data.known import KNOWN

    rows = [("digits", "1,797 digits, 8×8", "CC BY 4.0", "embedded")]
    rows += [(name, known.what, known.licence, _found(name, known, data_dir)) for name, known in KNOWN.items()]
    rows += [("hub:NAME", "any image classification set of the Hugging Face Hub", "its own", "–")]
    rows += [("PATH", "a folder of images by class, an .npz, .mat or .parquet file", "yours", "–")]
    print_columns(("name", "what", "licence", "found"), rows)


def _found(name: str, known: "Known", data_dir: str | None) -> str:
    from metamixup.errors import DataError

    try:
        place = known.located(name, data_dir)
    except DataError as problem:
        return "pickled only: not read" if "pickle" in str(problem) else "–"
    size = sum(file.stat().st_size for file in place.iterdir() if file.is_file())
    return f"{place} ({size / 2**20:,.0f} MB)"


@data.command()
def check(
    name: Name,
    data_dir: DataDir = None,
    image_size: ImageSize = None,
    aside: Annotated[Path | None, typer.Option("--set-aside", help="Move damaged files to this folder.")] = None,
) -> None:
    """Count images by class, name damaged files, find images that train and test share. Code 3: some cannot be used."""
    from metamixup.data import load
    from metamixup.data.check import check_folder, check_set, set_aside
    from metamixup.data.known import known_data

    root = Path(name).expanduser()
    folder = name not in known_data() and root.is_dir()
    findings = check_folder(root, image_size) if folder else check_set(load(name, data_dir, image_size))
    _show(findings)
    if findings.damaged and aside is not None:
        set_aside(root, findings.damaged, aside)
        print(f"moved to {aside}: {len(findings.damaged)}")
    if findings.too_large or (findings.damaged and aside is None):
        raise typer.Exit(3)


def _show(findings: "Findings") -> None:
    from metamixup.data.folder.files import kinds_of

    channels, height, width = findings.shape
    train, test = sum(n for _, n, _ in findings.histogram), sum(n for _, _, n in findings.histogram)
    print(f"{findings.name}: {len(findings.histogram)} classes, images {channels}×{height}×{width}")
    print(f"{train} for training, {test} for testing, {findings.unlabelled} unlabelled")
    print_columns(("class", "training", "test"), [(name, str(a), str(b)) for name, a, b in findings.histogram])
    _list("damaged", list(findings.damaged.values()))
    if findings.too_large:
        _list("too large to open", list(findings.too_large.values()))
    if findings.left_out:
        _list(f"left out, since only JPEG, PNG and WebP are read ({kinds_of(findings.left_out)})", findings.left_out)
    if findings.of_no_class:
        _list("not used, since they belong to no class or part", findings.of_no_class)
    _list("in the test set and in the training set", [f"{b} = {a}" for a, b in findings.duplicates])


def _list(what: str, items: list[str]) -> None:
    print(f"{what}: {len(items) or 'none'}")
    for item in items[:SHOWN]:
        print(f"  {item}")
    if len(items) > SHOWN:
        print(f"  … and {len(items) - SHOWN} more")


@data.command()
def peek(
    name: Name,
    out: Annotated[Path, typer.Option(help="Where the picture goes (.png).")] = Path("sheet.png"),
    data_dir: DataDir = None,
    image_size: ImageSize = None,
    seed: Annotated[int, typer.Option(help="Another seed shows other samples.")] = 0,
) -> None:
    """Draw a contact sheet: samples of every class, and blends of two."""
    from metamixup.data import load
    from metamixup.data.sheet import contact_sheet
    from metamixup.errors import UserError

    sheet = contact_sheet(load(name, data_dir, image_size), seed)
    try:
        sheet.save(out)
    except (OSError, ValueError) as problem:
        raise UserError(f"{out} cannot be written ({problem}); choose another --out, as in sheet.png") from problem
    print(f"{out}: {sheet.width}×{sheet.height} pixels")
