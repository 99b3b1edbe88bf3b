"""Blocks that sheets are made of: each kind has one placer, `place(layout, sheet, spec, row) -> next free row`."""
from builder.blocks import changes, chart, grids, inputs, lines, options, records, strip, tensors, texts, workings

PLACERS = {
    "heading": texts.place_heading,
    "strip": strip.place,
    "inputs": inputs.place_inputs,
    "overrides": inputs.place_overrides,
    "grid": grids.place_grid,
    "tensors": tensors.place,
    "lines": lines.place,
    "steps": lines.place_steps,
    "results": grids.place_results,
    "records": records.place,
    "options": options.place,
    "workings": workings.place,
    "changes": changes.place,
    "chart": chart.place,
}
