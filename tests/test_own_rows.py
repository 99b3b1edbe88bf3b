"""`verify` knows the models and cards that a user typed into the free rows of a workbook."""
from __future__ import annotations

from datetime import datetime

import openpyxl
import pytest

from builder.engines import ENGINES
from builder.presets import load
from builder.verify import verify

MODEL = {"model_name": "My model", "model_family": "Mistral", "model_hidden_size": 1024, "model_layers": 10, "model_heads": 16, "model_kv_heads": 4,
         "model_head_dim": 80, "model_feed_forward": 3000, "model_vocabulary": 50_000, "model_parameters": 175_000_000,
         "model_tied_embeddings": "Yes", "model_qkv_bias": "No", "model_o_bias": "No", "model_mlp_bias": "Yes"}
PHI = MODEL | {"model_family": "Phi-3", "model_sliding_window": 2047, "model_full_attention_every": 0, "model_rotary_share": 0.5}
CARD = {"card_name": "My card", "card_memory_mib": 20_000.5, "card_context_mib": 300, "card_estimate": "Yes"}


@pytest.fixture
def typed(tmp_path, one_column):
    """Saves the book with a model and a card in the first free rows, both chosen, as a spreadsheet program would."""

    def save(model, card):
        path = tmp_path / one_column.name
        book = openpyxl.load_workbook(one_column)
        for row, count in ((model, len(load().models)), (card, len(load().cards))):
            for name, value in row.items():
                sheet, area = next(book.defined_names[name].destinations)
                book[sheet][area][count][0].value = value
        for name, value in (("base_model", model["model_name"]), ("gpu_card", card["card_name"])):
            sheet, cell = next(book.defined_names[name].destinations)
            book[sheet][cell].value = value
        book.save(path)
        return path

    return save


@pytest.mark.parametrize("engine", ["formualizer", "libreoffice"])
def test_complete_rows_are_used_by_both(typed, engine, request):
    result = verify(typed(MODEL, CARD), request.getfixturevalue(f"engine_{engine}"))
    values = {row.name: row.book for row in result.rows}
    assert [row for row in result.rows if not row.agrees] == []
    assert values["gpu_capacity_gb"] == pytest.approx(20_000.5 * 2**20 / 1e9) and values["trainable_parameters"] == 1_549_440


@pytest.mark.parametrize("engine", ["formualizer", "libreoffice"])
def test_a_fused_family_and_sliding_window_are_used_by_both(typed, engine, request):
    result = verify(typed(PHI, CARD), request.getfixturevalue(f"engine_{engine}"))
    values = {row.name: row.book for row in result.rows}
    assert [row for row in result.rows if not row.agrees] == []
    assert (values["sliding_window"], values["full_attention_every"], values["rotary_share"]) == (2047, 0, 0.5)
    assert values["trainable_parameters"] == 8 * 10 * ((1024 + 1280 + 2 * 320) + (1280 + 1024) + (1024 + 6000) + (3000 + 1024))


@pytest.mark.parametrize("change", [{"model_heads": 15}, {"model_layers": 1.5}, {"model_family": "Nobody"}, {"model_o_bias": "Maybe"},
                                    {"model_vocabulary": None}, {"model_sliding_window": 4096}, {"model_full_attention_every": 2}, {"model_rotary_share": 1.5},
                                    {"model_name": "My*model"}, {"model_name": "Llama 2 7b"}])
def test_incomplete_rows_are_refused_by_both(typed, change):
    result = verify(typed(MODEL | change, CARD), "formualizer")
    values = {row.name: row.book for row in result.rows}
    assert values["article_fit_verdict"] == "CHECK INPUTS" and "(base_model)" in values["input_message"]
    assert [row for row in result.rows if not row.agrees] == []


@pytest.mark.parametrize("change", [{"card_memory_mib": None}, {"card_memory_mib": "24 GB"}, {"card_context_mib": 0}, {"card_name": "l4"}, {"card_native_bf16": "no"}])
def test_incomplete_cards_are_refused_by_both(typed, change):
    result = verify(typed(MODEL, CARD | change), "formualizer")
    values = {row.name: row.book for row in result.rows}
    assert values["article_fit_verdict"] == "CHECK INPUTS" and "(gpu_card)" in values["input_message"]
    assert [row for row in result.rows if not row.agrees] == []


OTHER = {"card_other_ecc": "ECC off", "card_other_ecc_mib": 21_333, "card_other_ecc_estimate": "Yes", "card_windows_mib": 24_000, "card_native_bf16": "No"}


@pytest.mark.parametrize("change, notes", [
    ({}, ["no native BF16", "With ECC off this card has 22.37 GB (estimate): ", "On Windows PyTorch shows 25.17 GB: "]),
    ({"card_other_ecc_estimate": None, "card_native_bf16": "Yes"}, ["With ECC off this card has 22.37 GB: ", "On Windows"]),
    ({"card_other_ecc": "off", "card_native_bf16": None}, ["On Windows"]),
    ({"card_other_ecc": None, "card_windows_mib": "most", "card_native_bf16": None}, []),
    ({"card_other_ecc_mib": "more", "card_windows_mib": None, "card_native_bf16": None}, []),
    ({"card_other_ecc_mib": -1, "card_windows_mib": 0}, ["no native BF16"]),
], ids=str)
@pytest.mark.parametrize("engine", ["formualizer", "libreoffice"])
def test_what_a_row_says_of_other_settings_is_noted_by_both(typed, change, notes, engine, request):
    result = verify(typed(MODEL, CARD | OTHER | change), request.getfixturevalue(f"engine_{engine}"))
    said = {row.name: row.book for row in result.rows}["input_notes"]
    assert [row for row in result.rows if not row.agrees] == []
    assert all(note in said for note in notes)
    assert [said.count(mark) for mark in ("native BF16", "With ECC", "On Windows")] == [sum(mark in note for note in notes) for mark in ("native BF16", "With ECC", "On Windows")]


@pytest.mark.parametrize("change", [{"model_heads": "=8*2"}, {"model_layers": datetime(1900, 1, 10)}])
def test_a_formula_or_a_date_format_in_a_row_is_the_number_it_shows(typed, change):
    result = verify(typed(MODEL | change, CARD), "formualizer")
    assert {row.name: row.book for row in result.rows}["trainable_parameters"] == 1_549_440
    assert [row for row in result.rows if not row.agrees] == []


def test_an_error_value_chooses_no_row(typed):
    """Once the word `error`, which the Workings showed for an error value, was a name that a row could have."""
    path = typed(MODEL | {"model_name": "error"}, CARD | {"card_name": "*error*"})
    book = openpyxl.load_workbook(path)
    for name in ("base_model", "gpu_card"):
        sheet, cell = next(book.defined_names[name].destinations)
        book[sheet][cell].value = "=NA()"
    book.save(path)
    with ENGINES["formualizer"].open(path) as session:
        assert session.evaluate({}, ["article_fit_verdict"]) == {"article_fit_verdict": "CHECK INPUTS"}
