"""`sizing add-card`."""
from __future__ import annotations

from pathlib import Path

import click

from builder.errors import place


@click.command()
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
