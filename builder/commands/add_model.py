"""`sizing add-model`."""
from __future__ import annotations

from pathlib import Path

import click

from builder.errors import place


@click.command()
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
