"""The tables of models and cards with their evidence, made from the presets. `make tables` writes them again."""
from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from builder.presets import Presets, load
from builder.template import ROOT

PAGE = ROOT.parent / "docs" / "models-and-cards.md"
BEGIN, END = "<!-- table of {}, made by `make tables` -->", "<!-- end of the table of {} -->"


def models(presets: Presets) -> str:
    """Every model: family, parameters, what its count is compared with, whether its activations are modelled."""
    rows = []
    for model in presets.models:
        family, counted = presets.families[model.family], model.parameters
        if not counted.published:
            evidence = f"none published: {counted.source}"
        elif counted.published_value:
            evidence = f"{counted.published_value:,}: {counted.difference}. {counted.source}"
        else:
            evidence = f"the same: {counted.source}"
        rows.append((model.name, family.name, f"{counted.value:,}", evidence, "traced" if family.activations_modelled else "not modelled"))
    return table(("Model", "Family", "Parameters, from the shape", "Published count", "Activations"), rows, right={2})


def cards(presets: Presets) -> str:
    """Every card: what is usable and on what evidence, the other setting of ECC, Windows, context, bandwidth, BF16."""
    rows = []
    for card in presets.cards:
        memory = card.memory
        other, windows = memory.other_ecc, memory.windows
        rows.append((
            card.name,
            f"{memory.usable_mib:,}",
            f"{memory.basis}: {memory.source}",
            f"{other.state}: {other.usable_mib:,}{' (estimate)' if other.estimate else ''}" if other else "",
            f"{windows.shown_mib:,}" if windows else "",
            f"{card.context.mib:g}{' (estimate)' if card.context.estimate else ''}",
            f"{card.bandwidth.gb_s:g}" if card.bandwidth else "",
            "yes" if card.native_bf16 else "no",
            ", ".join(card.instances.names) if card.instances else "",
        ))
    headings = ("Card", "Usable MiB", "Evidence", "Other ECC setting, MiB", "Windows shows, MiB", "Context, MiB", "GB/s", "Native BF16", "In clouds as")
    return table(headings, rows, right={1, 4, 6})


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], right: set[int]) -> str:
    """A Markdown table; numbers of the columns that stand to the right."""
    rule = ["---:" if column in right else "---" for column in range(len(headings))]
    lines = [" | ".join(cell.replace("|", "\\|") for cell in row) for row in (headings, rule, *rows)]
    return "".join(f"| {line} |\n" for line in lines)


TABLES = {"models": models, "cards": cards}


def filled(text: str, presets: Presets) -> str:
    """The page with its tables as the presets make them now."""
    for name, make in TABLES.items():
        begin, end = BEGIN.format(name), END.format(name)
        text, found = re.subn(rf"{re.escape(begin)}\n.*?{re.escape(end)}", lambda _: f"{begin}\n\n{make(presets)}\n{end}", text, flags=re.DOTALL)
        if found != 1:
            raise SystemExit(f"{PAGE.name}: {found} places for the table of {name}, expected one between '{begin}' and '{end}'")
    return text


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), load()), encoding="utf-8")
