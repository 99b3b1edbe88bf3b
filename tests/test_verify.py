"""`verify` accepts a book that shows what the reference gives, and reports each way in which a book can be wrong."""
from __future__ import annotations

import pytest
import xlsxwriter

from builder import presets as preset_files
from builder.engines import ErrorValue, formulas_engine, slices
from builder.errors import UsageError, VerifyError
from builder.reference import estimate, outputs
from builder.reference.finetune_estimate import PUBLIC_OUTPUTS
from builder.schema import BOOKS
from builder.verify import book_of, compare, equal, verify

PRESETS = preset_files.load()


@pytest.fixture
def write(tmp_path, engine_formualizer):
    """Writes a book whose formulas are the reference's answers for its inputs, apart from `shown`, and whose caches are these but `cached`."""

    def write(typed=None, shown=None, cached=None, without=()):
        typed = {spec.name: spec.default for spec in PRESETS.inputs} | (typed or {})
        answers = estimate(PRESETS, typed) | (shown or {})
        path = tmp_path / "book.xlsx"
        workbook = xlsxwriter.Workbook(path)
        sheet = workbook.add_worksheet("Sizing")
        for row, (name, value) in enumerate({**typed, **answers}.items()):
            if name in typed:
                sheet.write(row, 0, value)
            else:
                formula, shows = ("=NA()", "#N/A") if value is None else (f'="{value}"' if isinstance(value, str) else f"={value!r}", value)
                sheet.write_formula(row, 0, formula, None, (cached or {}).get(name, shows))
            if name not in without:
                workbook.define_name(name, f"=Sizing!$A${row + 1}")
        workbook.close()
        return path

    return write


def differing(result) -> list[str]:
    return [row.name for row in result.rows if not row.agrees]


def test_a_right_book_agrees(write):
    result = verify(write(), "formualizer")
    assert result.agrees and result.stale == () and differing(result) == []
    assert {row.name for row in result.rows} == set(estimate(PRESETS, {}))
    assert result.engine == "formualizer"


def test_the_inputs_are_those_of_the_file(write):
    result = verify(write({"lora_rank": 64, "target_q": "Yes", "layers_override": 30, "lora_dropout": None}), "formualizer", PRESETS)
    assert result.agrees
    assert result.inputs["lora_rank"] == 64 and result.inputs["layers_override"] == 30 and result.inputs["lora_dropout"] is None
    assert result.inputs["base_model"] == "TinyLlama 1.1B"


@pytest.mark.parametrize("typed", [{"gpu_card": "H100"}, {"batch_size": "40 GB"}, {"base_model": None}, {"loss_kernel": "Fused or chunked"}])
def test_what_is_unavailable_is_an_error_in_the_book(write, typed):
    assert verify(write(typed), "formualizer", PRESETS).agrees


@pytest.mark.parametrize("name, wrong", [
    ("article_total_gb", 14.59656), ("article_total_gb", "14.6"), ("article_total_gb", None), ("article_fit_verdict", "✗ DOES NOT FIT"),
    ("article_fit_verdict", "fits"), ("trainable_parameters", 1), ("input_message", "wrong"), ("article_peak_forward_gb", 0),
])
def test_a_wrong_value_is_reported(write, name, wrong):
    result = verify(write(shown={name: wrong}), "formualizer", PRESETS)
    assert differing(result) == [name] and not result.agrees


def test_a_value_where_there_should_be_none_is_reported(write):
    result = verify(write({"batch_size": -8}, shown={"article_total_gb": 12.5}), "formualizer", PRESETS)
    assert differing(result) == ["article_total_gb"]


def test_a_stale_cached_value_is_reported(write):
    result = verify(write(cached={"article_total_gb": 0, "article_fit_verdict": "✗ DOES NOT FIT", "input_message": 0}), "formualizer", PRESETS)
    assert differing(result) == [] and not result.agrees
    assert sorted(str(stale.cached) for stale in result.stale) == ["0", "0", "✗ DOES NOT FIT"]
    assert {stale.sheet for stale in result.stale} == {"Sizing"}


def test_a_large_book_is_verified_in_slices(write, engine_formulas, monkeypatch):
    monkeypatch.setattr(formulas_engine, "SLICED_BEYOND", 0)
    monkeypatch.setattr(slices, "SIZE", 100)
    result = verify(write(shown={"article_gradients_gb": 1}, cached={"article_total_gb": 0}), "formulas", PRESETS)
    assert differing(result) == ["article_gradients_gb"] and [stale.cached for stale in result.stale] == [0]


@pytest.mark.parametrize("name", ["base_model", "article_total_gb"])
def test_a_book_without_a_public_name_is_refused(write, name):
    with pytest.raises(VerifyError, match=f"no cell is named {name}"):
        verify(write(without=[name]), "formualizer", PRESETS)


def test_a_book_may_lack_workings(write):
    result = verify(write(without=["article_layer_bytes"]), "formualizer", PRESETS)
    assert result.agrees and len(result.rows) == len(estimate(PRESETS, {})) - 1


@pytest.fixture
def names_only(tmp_path, engine_formualizer):
    """A workbook with cells of these names, as `verify` reads it."""

    def opened(names):
        workbook = xlsxwriter.Workbook(tmp_path / "names.xlsx")
        sheet = workbook.add_worksheet("Sizing")
        for row, name in enumerate(names):
            sheet.write(row, 0, 1)
            workbook.define_name(name, f"=Sizing!$A${row + 1}")
        workbook.close()
        with engine_formualizer.open(tmp_path / "names.xlsx") as session:
            return session.file

    return opened


@pytest.mark.parametrize("book", BOOKS)
def test_the_book_of_a_file_is_the_one_whose_inputs_it_names(names_only, book):
    inputs = [spec.name for spec in preset_files.load(book=book).inputs]
    assert book_of(names_only(inputs)) == book
    assert book_of(names_only(inputs[1:])) == book, "the nearest, of a file that has not all of any"
    assert book_of(names_only([*inputs, "lora_note", "other_note"])) == book


def test_a_file_is_verified_as_its_own_book(write, monkeypatch):
    load, loaded = preset_files.load, []
    monkeypatch.setattr(preset_files, "load", lambda *args, **book: loaded.append(book) or load(*args, **book))
    assert verify(write(), "formualizer").agrees and loaded[-1] == {"book": "finetune"}


def test_only_public_outputs_must_be_withheld():
    """Where the reference withholds a working the book may still show it."""
    found, expected = {"shown_gb": 1.0, "hidden_gb": 2.0}, {"shown_gb": None, "hidden_gb": None}
    rows = compare(found, expected, ("shown_gb",))
    assert [(row.name, row.agrees) for row in rows] == [("shown_gb", False)]


def test_public_outputs_are_quantities_of_the_reference():
    assert set(PUBLIC_OUTPUTS) <= set(outputs(PRESETS, {}))


def test_an_unknown_engine_and_a_missing_file_are_usage_errors(write, tmp_path):
    with pytest.raises(UsageError, match="no engine 'excel'"):
        verify(write(), "excel", PRESETS)
    with pytest.raises(UsageError, match="cannot be read"):
        verify(tmp_path / "none.xlsx", "formualizer", PRESETS)


@pytest.mark.parametrize("book, reference, expected", [
    (1.0, 1, True), (True, 1, True), (1 + 1e-10, 1, True), (1 + 1e-8, 1, False), (0.0, 0, True), (1e-13, 0, True), (1e-6, 0, False),
    ("a", "a", True), ("a", "A", False), ("", "", True), ("1", 1, False), (1.0, "1", False), (None, 0, False), ("", None, True), (0.0, None, False),
    (ErrorValue("#N/A"), None, True), (ErrorValue("#N/A"), "#N/A", False), (ErrorValue("#N/A"), 0, False), (None, "", False),
])
def test_equal(book, reference, expected):
    assert equal(book, reference) is expected
