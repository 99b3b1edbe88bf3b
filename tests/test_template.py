"""A template that cannot be trusted is refused before anything is written, with its place, the value and the nearest valid name."""
from __future__ import annotations

import re
import shutil
from dataclasses import replace

import pytest

from builder import constants
from builder.check import RULES, findings
from builder.errors import TemplateError
from builder.layout import lay_out
from builder.presets import load
from builder.schema import BOOKS
from builder.template import ROOT, load_templates

PRESETS = load()
TOTAL, CARD, CHECKS = "lines/article_total.yaml", "lines/card.yaml", "sheets/14_checks.yaml"
SIZING, LEDGER = "sheets/02_sizing.yaml", "sheets/07_ledger.yaml"
USED_FORMULA = 'formula: "article_reserved + article_context_gb + memory_already_used"'

# What is wrong -> (file, what stands there, what is put in its place, what the message says, the rule that finds it or None for loading)
FAULTS = {
    "unknown key": (TOTAL, "  unit: GB", "  units: GB", "unknown key 'units'; did you mean 'unit'?", None),
    "unknown kind of block": (SIZING, "- kind: results", "- kind: result", "did you mean 'results'?", None),
    "unknown unit": (TOTAL, "  unit: GB", "  unit: GBs", "no unit 'GBs'; did you mean 'GB'?", "units_agree"),
    "misspelt name": (TOTAL, USED_FORMULA, USED_FORMULA.replace("reserved", "reservd"), "no name 'article_reservd' in this book; did you mean 'article_reserved'?", "known_names"),
    "function that engines disagree on": (TOTAL, USED_FORMULA, 'formula: "SUBTOTAL(article_reserved, article_context_gb, memory_already_used)"',
                                          "the function SUBTOTAL is not in the safe subset; did you mean", "safe_functions"),
    "a number in a formula": (TOTAL, USED_FORMULA, USED_FORMULA[:-1] + ' * 1.05"', "the number 1.05", "no_constants"),
    "IF in IF in IF": (TOTAL, USED_FORMULA, 'formula: "IF(inputs_valid, IF(article_covered=1, IF(memory_already_used>0, article_reserved, article_context_gb), 0), 0)"',
                       "IF nested 3 deep", "short_formulas"),
    "too long a formula": (TOTAL, USED_FORMULA, USED_FORMULA[:-1] + " + memory_already_used" * 20 + '"', "characters as written, more than 420", "short_formulas"),
    "GB plus bytes": (TOTAL, USED_FORMULA, USED_FORMULA.replace("article_context_gb", "article_held_bytes"), "mixes GB and byte", "units_agree"),
    "GB plus bytes that a choice counts": (TOTAL, USED_FORMULA, USED_FORMULA.replace("article_context_gb", "article_held_bytes * INDEX(base_storage_is_int8, base_storage_row)"),
                                           "mixes GB and byte", "units_agree"),
    "bytes in a row of GB": (TOTAL, USED_FORMULA, 'formula: "article_peak_allocated_bytes + article_held_bytes"', "comes out in byte, not in GB", "units_agree"),
    "a name that ends in another unit": (TOTAL, "- name: article_total\n", "- name: article_total_bytes\n", "the name 'article_total_bytes' has the unit GB", "units_agree"),
    "a quantity that depends on itself": (TOTAL, 'formula: "article_peak_allocated_bytes / bytes_per_gb + article_overhead_allowance"', 'formula: "article_total"',
                                          "these depend on each other", "no_cycles"),
    "a name defined twice": (TOTAL, "- name: article_total\n", "- name: article_reserved\n", "the name 'article_reserved' is defined twice", None),
    "a name that looks like a cell": (TOTAL, "- name: article_total\n", "- name: ab12\n", "the name 'ab12' is not legal", "legal_names"),
    "a measured input that no column shows": (
        "sheets/13_validation.yaml", "  - {heading: 'KV cache kept', field: keeps_kv_cache, name: traced_keeps_kv_cache, unit: text}\n", "",
        "no table shows 'keeps_kv_cache' of presets/measured/traced-lora.csv", "inputs_of_scenarios_shown"),
    "a quantity that nothing reads": (TOTAL, "- name: article_total_gb\n", "- name: article_spare\n  label: Spare\n  unit: GB\n  formula: article_reserved\n- name: article_total_gb\n",
                                      "nothing reads 'article_spare'", "nothing_unused"),
    "a bracket missing": (TOTAL, USED_FORMULA, 'formula: "SUM(article_reserved, article_context_gb"', "unexpected end of SUM(", None),
    "no formula at all": (TOTAL, USED_FORMULA, 'formula: ""', "formula: '' is empty", None),
    "an unknown style": (CHECKS, "style: total_label", "style: total_labels", "no style 'total_labels'; did you mean 'total_label'?", "known_styles"),
    "an unknown quantity on a sheet": (SIZING, "  - gpu_capacity_gib\n", "  - gpu_capacity_gb_\n", "no quantity 'gpu_capacity_gb_' in the Workings; did you mean 'gpu_capacity_gb'?", None),
    "an unknown moment": (LEDGER, "alive: [forward, loss]}", "alive: [forward, lost]}", "no moment 'lost'; did you mean 'loss'?", None),
    "a saved tensor with moments of its own": (LEDGER, "bytes: down_saved_bytes, saved: true", "bytes: down_saved_bytes, saved: true, alive: [loss]", "leave them out", None),
    "a range between names of the book": (CHECKS, "ABS(points_peak_bytes - ", "ABS(MAX(point_start_bytes:point_step_bytes) - ", "name the range", "near_ranges"),
    "a line item of an unknown book": (TOTAL, "books: [finetune", "books: [fintune", "books: 'fintune' is not one of finetune, training, inference; did you mean 'finetune'?", None),
    "a line item of no book": (CARD, "books: [finetune, training, inference]", "books: []", "books: [] should have at least 1 item", None),
    "a sheet without books": (SIZING, "books: [finetune, training, inference]\n", "", "the key 'books' is missing", None),
    "a block of an unknown book": (SIZING, "  books: [finetune]\n", "  books: [finetunes]\n", "books: 'finetunes' is not one of finetune, training, inference; did you mean 'finetune'?", None),
    "a row of an unknown book": ("lines/card_notes.yaml", "  books: [training]\n", "  books: [trainings]\n", "books: 'trainings' is not one of finetune, training, inference; did you mean 'training'?", None),
    "a column of an unknown book": ("sheets/04_cards.yaml", "books: [inference]", "books: [inferences]", "did you mean 'inference'?", None),
    "a comma that splits a cell": (CHECKS, "Rows of the Models sheet that say what is wrong with them.]", "Rows of the Models sheet, which say what is wrong with them.]", "4 cells, not 3", "even_grids"),
}


def refused(tmp_path, file, old, new):
    """Everything that is said about a copy of the templates with one text changed."""
    shutil.copytree(ROOT, tmp_path / "templates")
    path = tmp_path / "templates" / file
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    try:
        return "\n".join(findings(lay_out(PRESETS, load_templates("finetune", tmp_path / "templates"))))
    except TemplateError as error:
        return str(error)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_named_with_its_place(tmp_path, fault):
    file, old, new, message, rule = FAULTS[fault]
    said = refused(tmp_path, file, old, new)
    assert message in said
    assert re.search(r"\.yaml:\d+:\d+|sheet \w+|!\$[A-Z]+\$\d+", said), said
    assert rule is None or f"({rule.replace('_', '-')}: " in said


def test_every_line_of_a_message_about_a_line_item_names_file_and_line(tmp_path):
    said = refused(tmp_path, *FAULTS["misspelt name"][:3])
    assert re.search(r"lines/article_total\.yaml:\d+:\d+: no name 'article_reservd'", said)


def test_every_rule_can_fail():
    tried = {case[-1] for case in FAULTS.values()} | {"prompts_fit"}
    assert {rule.__name__ for rule in RULES} <= tried


def test_a_prompt_that_excel_would_cut_is_refused():
    layout = lay_out(PRESETS, load_templates("finetune"))
    sheet = next(sheet for sheet in layout.sheets if sheet.validations)
    sheet.validations[0] = type(sheet.validations[0])(**{
        **{name: getattr(sheet.validations[0], name) for name in sheet.validations[0].__slots__}, "prompt": "x" * 256})
    assert any("256 characters, more than 255" in line and "prompts-fit" in line for line in findings(layout))


def test_the_shipped_templates_pass_every_rule():
    assert findings(lay_out(PRESETS, load_templates("finetune"))) == []
    assert findings(lay_out(PRESETS, load_templates("finetune"), all_scenarios=False)) == []


def test_a_new_file_attaches_itself(tmp_path):
    """A line item and a sheet are one file each, with no list to edit."""
    shutil.copytree(ROOT, tmp_path / "templates")
    (tmp_path / "templates" / "lines" / "extra.yaml").write_text(
        'books: [finetune]\ntitle: Extra\norder: 400\nsource: a test\nrows:\n- {name: extra_gb, label: Extra, unit: GB, formula: "article_total + gpu_capacity_gb"}\n')
    (tmp_path / "templates" / "sheets" / "03_extra.yaml").write_text(
        "books: [finetune]\nname: Extra\ncolumns: {A: 20, B: 20, C: 20, D: 20, E: 20}\nblocks:\n- {kind: results, title: Extra, rows: [extra_gb]}\n")
    layout = lay_out(PRESETS, load_templates("finetune", tmp_path / "templates"))
    assert findings(layout) == []
    assert [sheet.name for sheet in layout.sheets][:3] == ["Start", "Sizing", "Extra"] and "extra_gb" in layout.names


# Two small books that share every file.
LINE = """books: [finetune, training]
title: Small
order: 1
source: a test
rows:
- {name: shared_gb, label: Shared, unit: GB, formula: "context_allowance + extra_allowance", books: [finetune]}
- {name: shared_gb, label: Shared, unit: GB, formula: "context_allowance", books: [training]}
- {name: tuned_gb, label: Tuned, unit: GB, formula: shared_gb, books: [finetune]}
- {name: trained_gb, label: Trained, unit: GB, formula: shared_gb, books: [training]}
- {name: every_gb, label: Every, unit: GB, formula: shared_gb}
"""
SHEET = """books: [finetune, training]
name: Small
columns: {A: 20, B: 20, C: 20, D: 20}
blocks:
- {kind: heading, title: Of both}
- {kind: heading, title: Of fine-tuning, books: [finetune]}
- {kind: heading, title: Of training, books: [training]}
- kind: grid
  title: Results
  rows:
  - [Every, {show: every_gb}]
  - {books: [finetune], cells: [Tuned, {show: tuned_gb}]}
  - {books: [training], cells: [Trained, {show: trained_gb}]}
  - {books: [training], cells: [The other book, {file: other.xlsx}]}
- kind: records
  title: Models
  source: models
  columns:
  - {heading: Model, field: name, unit: text, name: some_model}
  - {heading: Family, field: family, unit: text, name: some_family, books: [finetune]}
  - {heading: Layers, field: shape.layers, unit: layers, name: some_layers, books: [training]}
"""
WORKINGS = """books: [finetune, training]
name: Workings
columns: {A: 40, B: 30, C: 10, D: 20, E: 60, F: 40}
blocks:
- kind: workings
  scenarios:
  - {title: Your job, source: inputs}
  - {title: Model, source: models, prefix: of_model, changes: {shared_gb: "0"}, books: [finetune]}
  - {title: Card, source: cards, prefix: of_card, changes: {shared_gb: "0"}, books: [training]}
"""


@pytest.fixture
def small(tmp_path):
    """Presets and templates of two books of one line item and two sheets; one constant is read by both, one by the first, one by none."""
    root = shutil.copytree(ROOT, tmp_path / "small", ignore=shutil.ignore_patterns("lines", "sheets"))
    for name, text in {"lines/small.yaml": LINE, "sheets/01_small.yaml": SHEET, "sheets/02_workings.yaml": WORKINGS}.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    some = next(iter(PRESETS.constants.values()))
    named = {name: some.model_copy(update={"name": name, "unit": "GB"}) for name in ("context_allowance", "extra_allowance", "spare_allowance")}
    return {book: (replace(load(book=book), constants=named), load_templates(book, root)) for book in ("finetune", "training")}


def test_a_part_of_one_book_does_not_stand_in_another(small):
    """Rows of line items, blocks, rows of grids, columns of tables, groups of scenarios."""
    layouts = {book: lay_out(*pair) for book, pair in small.items()}
    own = {"finetune": ({"tuned_gb", "some_family"}, {"Of fine-tuning", "Tuned", "Family"}), "training": ({"trained_gb", "some_layers"}, {"Of training", "Trained", "The other book", "Layers"})}
    groups = {"finetune": ["of_model"], "training": ["of_card"]}
    for book, layout in layouts.items():
        names, texts = own[book]
        other_names, other_texts = own["training" if book == "finetune" else "finetune"]
        shown = {cell.content for cell in layout.sheets[0].cells.values()}
        assert names | {"every_gb", "some_model"} <= set(layout.names) and not other_names & set(layout.names)
        assert texts | {"Of both", "Every", "Model"} <= shown and not other_texts & shown
        assert list(layout.spans) == groups[book]
        assert [row.name for row in layout.sections[-1].rows] == ["shared_gb", *sorted(names & set(layout.rows)), "every_gb"]
    assert layouts["finetune"].rows["shared_gb"].text != layouts["training"].rows["shared_gb"].text, "one name, a formula in each book"


def test_a_cell_may_lead_to_the_book_beside_it(small):
    links = {book: [(link.target, link.outside) for link in lay_out(*pair).sheets[0].links if link.outside] for book, pair in small.items()}
    assert links == {"finetune": [], "training": [("other.xlsx", True)]}


def test_a_book_shows_the_constants_that_it_reads(small):
    """Of those of the small books; every book knows the texts of its verdict as well."""
    assert {book: list(constants.used(*pair)) for book, pair in small.items()} == {"finetune": ["context_allowance", "extra_allowance"], "training": ["context_allowance"]}
    assert {book: list(lay_out(*pair).presets.constants) for book, pair in small.items()} == {book: list(constants.used(*pair)) for book, pair in small.items()}


def test_a_constant_that_no_book_reads_is_named(small):
    assert constants.unused(small) == ["spare_allowance"]
    assert constants.unused({"training": small["training"]}) == ["extra_allowance", "spare_allowance"]


def test_every_shipped_book_shows_fewer_constants_than_there_are():
    shown = constants.used(PRESETS, load_templates("finetune"))
    assert list(shown) == [name for name in PRESETS.constants if name in shown] and set(shown) < set(PRESETS.constants)
    assert list(lay_out(PRESETS, load_templates("finetune")).presets.constants) == list(shown)


def test_a_part_that_names_no_book_stands_in_every_book_of_its_file():
    titles = {book: {sheet.name for sheet in load_templates(book).sheets} for book in BOOKS}
    assert {"Start", "Sizing", "Levers", "Cards", "Scenarios", "Workings", "Models", "Checks"} <= set.intersection(*titles.values())
    assert {book for book, names in titles.items() if "QLoRA crossover" in names} == {"finetune"}
    card = {book: [row.name for line in load_templates(book).lines if line.slug == "card" for row in line.rows] for book in BOOKS}
    assert card["finetune"] and card["finetune"] == card["training"] == card["inference"]


def test_no_number_format_leaves_a_bare_point():
    """Excel shows 22 in the format 0.### as `22.`, with a point and nothing behind it."""
    units = load_templates("finetune").units
    assert units and not [name for name, unit in units.items() if re.search(r"\.(?!0)", unit.format)]
