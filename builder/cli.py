"""The command line: `sizing`."""
from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from builder import __version__
from builder.errors import PresetError, SizingError, UsageError, VerifyError, nearest, place

# How many cells with a stale value `verify` names; a book saved without values has thousands.
STALE_SHOWN = 10
# What a spreadsheet would read as a number.
NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")


class _Group(click.Group):
    """A click group that turns a SizingError into its message and its exit code; no traceback reaches a user."""

    def invoke(self, context: click.Context):
        try:
            return super().invoke(context)
        except BrokenPipeError:
            raise  # click ends in silence when nobody reads on
        except (SizingError, OSError) as error:
            click.echo(f"error: {error}", err=True)
            sys.exit(getattr(error, "exit_code", 1))

    def resolve_command(self, context: click.Context, args: list[str]):
        if args and args[0] not in self.commands:
            raise click.UsageError(f"no command '{args[0]}'{nearest(args[0], self.commands)}")
        return super().resolve_command(context, args)


# sysexits' EX_USAGE, as our own UsageError has it: click's 2 is that of a wrong preset.
click.UsageError.exit_code = UsageError.exit_code


@click.group(cls=_Group)
@click.version_option(__version__)
def main() -> None:
    """Build, check and use the GPU sizing workbooks."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8")  # a pipe on Windows has no check mark


@main.command()
@click.option("--book", "books", multiple=True, help="Build this book only (all by default); may be given more than once.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), default=None, help="Folder to build into (dist by default).")
def build(books: tuple[str, ...], out: Path | None) -> None:
    """Render the presets into workbooks."""
    from builder.book import DIST, write_sums
    from builder.book import build as build_book

    directory = out or DIST
    for book in _books(books):
        with _progress(f"building {book}"):
            built = build_book(book, directory)
        click.echo(f"{place(built.path)}  {built.path.stat().st_size / 1000:,.0f} kB, {built.cells:,} cells, {built.formulas:,} formulas")
    click.echo(place(write_sums(directory)))


@main.command()
@click.option("--book", "books", multiple=True, help="Check this book only (all by default); may be given more than once.")
def check(books: tuple[str, ...]) -> None:
    """Check presets and templates without writing anything."""
    from builder import constants
    from builder.book import checked_layout
    from builder.presets import CONSTANTS, ROOT, load

    layouts = {book: checked_layout(book) for book in _books(books)}
    if not books and (unused := constants.unused({book: (load(book=book), layout.templates) for book, layout in layouts.items()})):
        raise PresetError(f"no book reads {', '.join(unused)}", ROOT / CONSTANTS)
    for book, layout in layouts.items():
        presets = layout.presets
        click.echo(f"{book}: {len(presets.models)} models, {len(presets.cards)} cards, {len(presets.inputs)} inputs, "
                   f"{len(layout.rows)} quantities, {len(layout.names)} names: all checks pass")


@main.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--engine", "engine_name", type=click.Choice(["formulas", "formualizer", "libreoffice"]), default="formualizer", show_default=True,
              help="The engine that recalculates the file.")
@click.option("--json", "as_json", is_flag=True, help="Print the comparison as JSON.")
def verify(file: Path, engine_name: str, as_json: bool) -> None:
    """Recalculate a workbook and compare it with the Python reference."""
    from builder.verify import verify as verify_book

    with _progress(f"recalculating {file.name} with {engine_name}"):
        result = verify_book(file, engine_name)
    differing = [row for row in result.rows if not row.agrees]
    if as_json:
        click.echo(json.dumps([{"name": row.name, "book": row.book, "reference": row.reference, "agrees": row.agrees} for row in result.rows],
                              indent=2, default=str))
    else:
        for row in differing:
            click.echo(f"{row.name}: book {row.book}, reference {row.reference}", err=True)
        for cell in result.stale[:STALE_SHOWN]:
            click.echo(f"{cell.sheet}!{cell.cell}: cached {cell.cached}, recalculated {cell.recalculated}", err=True)
    if differing or result.stale:
        raise VerifyError(f"{file}: {len(differing)} of {len(result.rows)} quantities differ from the reference, {len(result.stale)} cached values are stale")
    if not as_json:
        click.echo(f"{file}: {len(result.rows)} quantities equal the reference, recalculated with {engine_name}; cached values are current")


@main.command()
@click.option("--book", default="finetune", show_default=True, help="Which book's quantities.")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="An input and its value; may be given more than once. Empty means blank.")
@click.option("--json", "as_json", is_flag=True, help="Print every quantity as JSON.")
def estimate(book: str, settings: tuple[str, ...], as_json: bool) -> None:
    """Estimate one job with the Python reference, without a workbook."""
    from builder.presets import load
    from builder.reference import outputs, public_outputs

    _books((book,))
    presets = load(book=book)
    found = outputs(presets, dict(setting(presets, item) for item in settings))
    if as_json:
        click.echo(json.dumps(found, indent=2, ensure_ascii=False))
    else:
        _print(found, public_outputs(book))
    if found["input_message"]:
        raise UsageError(found["input_message"])


@main.command("add-card")
@click.option("--report", help="What PyTorch printed of the card: _CudaDeviceProperties(...), or an out-of-memory error.")
@click.option("--name", help="Name for the dropdown.")
@click.option("--vendor", help="Who makes it (NVIDIA if nothing else says so).")
@click.option("--segment", help="consumer, workstation, datacenter, embedded or unified.")
@click.option("--marketing-gb", type=float, help="Size it is sold with, GB.")
@click.option("--memory-type", help="Kind of memory, such as GDDR6.")
@click.option("--usable-mib", type=int, help="Lowest total_memory that PyTorch on Linux was seen to report, MiB.")
@click.option("--usable-gib", type=float, help="The same in GiB, as torch's errors print it.")
@click.option("--basis", help="What that figure rests on.")
@click.option("--estimate", is_flag=True, default=None, help="The figure is an estimate.")
@click.option("--context-mib", type=float, help="Measured CUDA context, MiB (else 572, an estimate).")
@click.option("--compute-capability", help="Such as 8.9; NVIDIA only.")
@click.option("--bandwidth", type=float, help="Memory bandwidth, GB/s.")
@click.option("--source", help="Where the figures are from: an issue, a repository at a commit, your own run.")
@click.option("--date", help="Day of the source, such as 2026-11-30 (today if missing).")
@click.option("--root", type=click.Path(path_type=Path, file_okay=False, exists=True), default=None, help="Folder of presets (this project's by default).")
def add_card(root: Path | None, **options: object) -> None:
    """Make a checked preset file of a card."""
    from builder.add_card import add_card as add
    from builder.presets import ROOT

    path, presets = add(root or ROOT, options)
    click.echo(f"{path.read_text(encoding='utf-8')}\n{place(path)}: written, all {len(presets.cards)} cards pass. Next: sizing build")


@main.command("add-model")
@click.argument("config", type=click.Path(path_type=Path, exists=True))
@click.option("--name", help="Name for the dropdown.")
@click.option("--slug", help="File name of the preset, without .yaml: words of its name.")
@click.option("--hub-id", help="Where the model lies on the Hugging Face hub: owner/name.")
@click.option("--source", help="Where the config is from: a repository at a commit, say.")
@click.option("--date", help="Day of the source, such as 2026-11-30 (today if missing).")
@click.option("--published", type=click.IntRange(min=1), help="Published number of parameters, to compare with that of the shape.")
@click.option("--published-source", help="Where that number is published.")
@click.option("--difference", help="Why it is another one than that of the shape, where it is.")
@click.option("--out", "--root", "root", type=click.Path(path_type=Path, file_okay=False, exists=True), help="Folder of presets (this project's by default).")
def add_model(config: Path, root: Path | None, **options: object) -> None:
    """Make a checked preset file of a model from its config.json.

    CONFIG is a config.json of Hugging Face, or a folder that holds one:

    sizing add-model ~/models/falcon3-7b --name "Falcon3 7B"
    """
    from builder.add_model import add_model as add
    from builder.presets import ROOT

    path, draft, presets = add(root or ROOT, config, options)
    family = presets.families[draft.family]
    click.echo(f"{draft.name}, family {family.name}: {draft.parameters:,} parameters, {2 * draft.parameters / 1e9:,.2f} GB in BF16")
    click.echo("Activations are modelled." if family.activations_modelled else
               "Activations are not modelled: weights, adapters and optimizer states are exact, and no total is given.")
    if notes := draft.data.get("notes"):
        click.echo(notes)
    click.echo(f"{place(path)}: written, all {len(presets.models)} models pass. Next: sizing build")


def setting(presets, item: str) -> tuple[str, object]:
    """`name=value` as typed into the sheet: a number where it reads as one and the input takes one, else text."""
    name, equals, text = item.partition("=")
    names = {spec.name: spec for spec in presets.inputs}
    if not equals:
        raise UsageError(f"--set {item}: expected NAME=VALUE")
    if name not in names:
        raise UsageError(f"--set {item}: no input '{name}'{nearest(name, names)}")
    if text == "":
        return name, None
    if names[name].kind in ("whole", "number") and NUMBER.fullmatch(text):
        return name, int(text) if text.lstrip("+-").isdigit() and len(text) < 20 else float(text)
    return name, text


def _books(books: tuple[str, ...]) -> list[str]:
    from builder.book import book_names

    known = book_names()
    for book in books:
        if book not in known:
            raise UsageError(f"no book '{book}'" + (nearest(book, known) or f"; expected one of {', '.join(known)}"))
    return list(books) or known


def _print(found: dict[str, object], public: tuple[str, ...]) -> None:
    """The public outputs as a table; `-` where a figure is withheld."""
    table = Table(box=None, show_header=False, pad_edge=False)
    for name in (*public[:-1], "input_notes"):  # the message of a wrong input is the error that follows
        if name == "input_notes" and not found[name]:
            continue
        value = found[name]
        shown = "-" if value is None else f"{value:,.4f}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else value
        table.add_row(name, shown)
    Console(highlight=False).print(table)


def _progress(text: str):
    """A spinner on a terminal's stderr; nothing where output is piped."""
    return Console(stderr=True).status(text)
