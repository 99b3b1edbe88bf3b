"""`sizing estimate`."""
from __future__ import annotations

import json

import click
from rich.console import Console
from rich.table import Table

from builder.errors import UsageError
from builder.terminal import books_named, typed


@click.command()
@click.option("--book", default="finetune", show_default=True, help="Which book's quantities.")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="An input and its value; may be given more than once. Empty means blank.")
@click.option("--json", "as_json", is_flag=True, help="Print every quantity as JSON.")
def estimate(book: str, settings: tuple[str, ...], as_json: bool) -> None:
    """Estimate one job with the Python reference, without a workbook."""
    from builder.presets import load
    from builder.reference import outputs, public_outputs

    books_named((book,))
    presets = load(book=book)
    found = outputs(presets, typed(presets, settings))
    if as_json:
        click.echo(json.dumps(found, indent=2, ensure_ascii=False))
    else:
        _print(found, public_outputs(book))
    if found["input_message"]:
        raise UsageError(found["input_message"])


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
