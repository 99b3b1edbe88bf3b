"""`sizing build`."""
from __future__ import annotations

from pathlib import Path

import click

from builder.errors import place
from builder.terminal import books_named, progress


@click.command()
@click.option("--book", "books", multiple=True, help="Build this book only (all by default); may be given more than once.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), default=None, help="Folder to build into (dist by default).")
def build(books: tuple[str, ...], out: Path | None) -> None:
    """Render the presets into workbooks."""
    from builder.book import DIST, write_sums
    from builder.book import build as build_book

    directory = out or DIST
    for book in books_named(books):
        with progress(f"building {book}"):
            built = build_book(book, directory)
        click.echo(f"{place(built.path)}  {built.path.stat().st_size / 1000:,.0f} kB, {built.cells:,} cells, {built.formulas:,} formulas")
    click.echo(place(write_sums(directory)))
