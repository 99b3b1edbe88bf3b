"""`sizing verify`."""
from __future__ import annotations

import json
from pathlib import Path

import click

from builder.errors import VerifyError
from builder.terminal import progress

# How many cells with a stale value are named; a book saved without values has thousands.
STALE_SHOWN = 10


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--engine", "engine_name", type=click.Choice(["formulas", "formualizer", "libreoffice"]), default="formualizer", show_default=True,
              help="The engine that recalculates the file.")
@click.option("--json", "as_json", is_flag=True, help="Print the comparison as JSON.")
def verify(file: Path, engine_name: str, as_json: bool) -> None:
    """Recalculate a workbook and compare it with the Python reference."""
    from builder.verify import verify as verify_book

    with progress(f"recalculating {file.name} with {engine_name}"):
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
