"""The reference and the workbook against 104 traced jobs: every moment of every row of tests/data/lora-traces.csv."""
from pathlib import Path

import pytest

from builder.book import build
from builder.presets import load
from builder.reference import estimate
from builder.reference.finetune_estimate import PUBLIC_OUTPUTS
from builder.verify import compare, names_in_both
from tests.tracer.rows import label, rows, typed, without_windows

ROWS = rows()
LOGITS_GRADIENT = "_log_softmax_backward_data.default"  # the start of backward
AT_LOGITS_GRADIENT, ELSEWHERE, OWN_FIGURE, STATIC = 0.001, 0.005, 0.01, 0.0005  # relative tolerances
MOMENTS = {
    "after_forward_bytes": ("after_forward_bytes",),
    "peak_forward_bytes": ("forward_bytes", "in_the_loss_bytes"),
    "peak_backward_bytes": ("start_of_backward_bytes", "inside_layer_bytes"),
    "peak_optimizer_bytes": ("optimizer_step_bytes",),
}


@pytest.fixture(scope="module")
def presets():
    return load()


@pytest.fixture(scope="module")
def as_traced(presets):
    """The rows of Phi-3 were traced from a configuration without the window of 2,047 tokens that the model's config.json has."""
    return without_windows(presets, "phi3")


def off(found: float, row: dict[str, str], column: str) -> float:
    """Relative difference from a column of a row."""
    return abs(found / int(row[column]) - 1)


def test_the_rows_are_complete():
    assert len(ROWS) == len({label(row) for row in ROWS}) == 104
    assert len({row["model"] for row in ROWS}) == 8 and all(int(row["peak_bytes"]) > 0 for row in ROWS)


@pytest.mark.parametrize("row", ROWS, ids=label)
def test_the_reference_gives_a_traced_row(row, as_traced):
    found = estimate(as_traced, typed(row, as_traced))
    assert found["trainable_parameters"] == int(row["trainable_params"])
    assert off(found["frozen_base_bytes"] + found["adapter_weights_bytes"], row, "static_bytes") < STATIC
    assert off(found["traced_peak_bytes"], row, "peak_bytes") < (AT_LOGITS_GRADIENT if row["peak_op"] == LOGITS_GRADIENT else ELSEWHERE)
    for column, moments in MOMENTS.items():
        assert off(max(found[moment] for moment in moments), row, column) < OWN_FIGURE, column


def test_the_window_of_phi3_costs_its_mask_alone(presets, as_traced):
    """SDPA makes the mask of a sliding layer, a byte for each pair of tokens, where the sequence reaches the window."""
    masked = 0
    for row in ROWS:
        if row["model"] == "phi-3-mini":
            with_window, without = (estimate(some, typed(row, some)) for some in (presets, as_traced))
            batch, sequence = int(row["batch"]), int(row["seq"])
            mask = batch * sequence**2 if sequence >= 2047 and row["attention"] == "sdpa" else 0
            assert with_window["traced_peak_bytes"] - without["traced_peak_bytes"] == mask, label(row)
            masked += mask > 0
    assert masked


@pytest.fixture(scope="module")
def session(engine_formualizer, tmp_path_factory):
    path: Path = build("finetune", tmp_path_factory.mktemp("traces"), all_scenarios=False).path
    with engine_formualizer.open(path) as session:
        yield session


def test_the_workbook_equals_the_reference_on_every_row(session, presets):
    for row in ROWS:
        expected = estimate(presets, typed(row, presets))
        compared = compare(session.evaluate(typed(row, presets), names_in_both(session, expected)), expected, PUBLIC_OUTPUTS)
        assert {"traced_peak_bytes", "after_forward_bytes", *sum(MOMENTS.values(), ())} <= {found.name for found in compared}
        assert not [found for found in compared if not found.agrees], label(row)
