"""The article's figures come out of the workbook, recalculated by two engines."""
from __future__ import annotations

import pytest

from builder.book import DIST
from builder.reference.article_verdict import FITS, NOT_COVERED
from builder.template import load_templates

BOOK = DIST / load_templates("finetune").book.file
ON = {"activation_checkpointing": "On"}

# (what is typed, output, printed figure, digits after the point)
FIGURES = [
    ({}, "article_frozen_base_gb", 2.20, 2),
    ({}, "trainable_parameters", 6_307_840, 0),
    ({}, "article_adapter_weights_gb", 0.02523, 5),
    ({}, "article_gradients_gb", 0.02523, 5),
    ({}, "article_optimizer_states_gb", 0.05046, 5),
    ({}, "article_autocast_cache_gb", 0.0126, 4),
    ({}, "article_activations_gb", 8.96, 2),
    (ON, "article_activations_gb", 2.44, 2),
    ({}, "article_matmul_workspace_gb", 1.53, 2),
    (ON, "article_matmul_workspace_gb", 0, 9),
    ({}, "article_peak_allocated_gb", 12.7966, 4),
    (ON, "article_peak_allocated_gb", 4.7148, 4),
    ({}, "article_total_gb", 14.5966, 4),
    (ON, "article_total_gb", 10.5148, 4),
    ({"adapter_top_layers": 11}, "article_activations_gb", 5.40, 2),
    ({"adapter_top_layers": 3}, "article_activations_gb", 2.82, 2),
    ({"base_storage": "NF4"}, "article_frozen_base_gb", 0.55, 2),
    ({"base_model": "Llama 2 7B"}, "trainable_parameters", 19_988_480, 0),
    ({"base_model": "Llama 3 8B"}, "trainable_parameters", 20_971_520, 0),
    ({"base_model": "Llama 2 70B"}, "trainable_parameters", 103_546_880, 0),
    ({"base_model": "Llama 2 70B"}, "article_frozen_base_gb", 137.95, 2),
    ({"batch_size": 32, "sequence_length": 2048}, "article_total_gb", 171.84, 2),
]
VERDICTS = [
    ({}, "✓ FITS"),
    ({"batch_size": 32, "sequence_length": 2048}, "✗ DOES NOT FIT"),
    ({"batch_size": 32, "sequence_length": 2048, **ON}, "✓ FITS"),
    ({"batch_size": None}, "CHECK INPUTS"),
    ({"optimizer_choice": "SGD"}, "not covered by the article"),
]


@pytest.fixture(scope="module", params=["formualizer", "libreoffice"])
def session(request):
    with request.getfixturevalue(f"engine_{request.param}").open(BOOK) as session:
        yield session


@pytest.mark.parametrize("typed,output,figure,digits", FIGURES, ids=[f"{case[1]}-{case[2]}" for case in FIGURES])
def test_figure(session, typed, output, figure, digits):
    assert session.evaluate(typed, [output])[output] == pytest.approx(figure, abs=0.5 * 10**-digits + 1e-12)


@pytest.mark.parametrize("typed,verdict", VERDICTS)
def test_verdict_stands_in_every_place_that_shows_it(session, typed, verdict):
    places = ["fit_verdict", "strip_verdict", "start_verdict"]
    found = session.evaluate(typed, [*places, "article_fit_verdict"])
    assert found.pop("article_fit_verdict") == verdict
    assert set(found.values()) == {FITS if verdict == NOT_COVERED else verdict}


def test_validation_sheet_reproduces_all_25_runs(session):
    counts = ["validation_count", "validation_reproduced_count", "validation_right_count", "validation_article_worst_error", "all_checks_pass"]
    found = session.evaluate({"batch_size": 64, "lora_rank": 3}, counts)  # the user's job does not touch the runs
    assert (found["validation_count"], found["validation_reproduced_count"], found["validation_right_count"]) == (25, 25, 25)
    assert found["validation_article_worst_error"] == pytest.approx(0.083, abs=0.0005) and found["all_checks_pass"] is True
