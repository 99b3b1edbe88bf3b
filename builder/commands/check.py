"""`sizing check`."""
from __future__ import annotations

import click

from builder.errors import PresetError
from builder.terminal import books_named


@click.command()
@click.option("--book", "books", multiple=True, help="Check this book only (all by default); may be given more than once.")
def check(books: tuple[str, ...]) -> None:
    """Check presets and templates without writing anything."""
    from builder import constants
    from builder.book import checked_layout
    from builder.presets import CONSTANTS, ROOT, load

    layouts = {book: checked_layout(book) for book in books_named(books)}
    if not books and (unused := constants.unused({book: (load(book=book), layout.templates) for book, layout in layouts.items()})):
        raise PresetError(f"no book reads {', '.join(unused)}", ROOT / CONSTANTS)
    for book, layout in layouts.items():
        presets = layout.presets
        click.echo(f"{book}: {len(presets.models)} models, {len(presets.cards)} cards, {len(presets.inputs)} inputs, "
                   f"{len(layout.rows)} quantities, {len(layout.names)} names: all checks pass")
