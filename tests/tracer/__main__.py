"""Traces a job and prints each moment beside the reference's figure."""
from __future__ import annotations

import sys

import click
from rich.console import Console
from rich.table import Table

from builder.errors import SizingError, UsageError, nearest
from builder.presets import load
from builder.reference import estimate, inputs, ledger_peak
from builder.terminal import typed as typed_in
from tests.tracer import not_installed

GB, SHOWN, TABLE_WIDTH = 10**9, 20, 150


@click.command()
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="An input and its value; may be given more than once. Empty means blank.")
@click.option("--layers", type=click.IntRange(min=1), help="Trace this many layers; the same as --set layers_override.")
@click.option("--table", is_flag=True, help="Print what was alive at the peak of each moment, largest first.")
def main(settings: tuple[str, ...], layers: int | None, table: bool) -> None:
    """Trace a training step of a job, without a GPU."""
    try:
        _run(settings, layers, table)
    except SizingError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(error.exit_code)


def _run(settings: tuple[str, ...], layers: int | None, table: bool) -> None:
    presets = load()
    typed = typed_in(presets, settings)
    if layers is not None:
        typed["layers_override"] = layers
    found = estimate(presets, typed)
    if found["input_message"]:
        raise UsageError(found["input_message"] + _did_you_mean(presets, typed))
    if not_installed():
        raise SizingError(not_installed())
    with Console(stderr=True).status("tracing"):
        from tests.tracer.step import traced

        trace = traced(presets, typed)
    _print(trace, found)
    if table:
        for moment in trace.peaks:
            _print_table(moment, trace)


def _did_you_mean(presets, typed) -> str:
    """The nearest valid text of the first wrong choice."""
    for spec in presets.inputs:
        offered = inputs.offered_names(presets, spec)
        if offered and typed.get(spec.name) and typed[spec.name] not in offered:
            return nearest(typed[spec.name], offered).replace("; did", " Did")
    return ""


def figures(trace, found) -> list[tuple[str, float, float]]:
    """(what, the trace's bytes, the reference's bytes), without the workspaces of cuBLAS, which a trace does not see."""
    return [
        ("Static", trace.static, found["frozen_base_bytes"] + found["adapter_weights_bytes"]),
        ("After forward", trace.after_forward, found["after_forward_bytes"]),
        *((moment, traced_bytes, found[ledger_peak.MOMENTS[moment]]) for moment, traced_bytes in trace.peaks.items()),
        ("Peak allocated", trace.peak, found["traced_peak_bytes"]),
        ("Peak reserved", trace.peak_reserved, found["reserved_bytes"] - found["workspace_bytes"]),
    ]


def _print(trace, found) -> None:
    shown = Table("GB", "traced", "reference", "difference", box=None, pad_edge=False)
    for column in shown.columns[1:]:
        column.justify = "right"
    for what, traced_bytes, reference in figures(trace, found):
        shown.add_row(what, f"{traced_bytes / GB:.4f}", f"{reference / GB:.4f}", f"{reference / traced_bytes - 1:+.3%}")
    Console(highlight=False).print(shown)


def _print_table(moment: str, trace) -> None:
    from tests.tracer.storages import summed

    shown = Table("GB", "count", "made in", "by", "shape", box=None, pad_edge=False, title=f"{moment}: {trace.peaks[moment] / GB:.4f} GB", title_justify="left", title_style="bold")
    for nbytes, count, tag in summed(trace.tables[moment])[:SHOWN]:
        shown.add_row(f"{nbytes / GB:.4f}", f"{count:,}", tag.phase, f"{tag.module} {tag.operation}".strip(), f"{tag.dtype} {' x '.join(map(str, tag.shape))}")
    console = Console(highlight=False, width=TABLE_WIDTH)
    console.print()
    console.print(shown)


if __name__ == "__main__":
    main(prog_name="python -m tests.tracer")
