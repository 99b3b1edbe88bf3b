"""Models and cards of the user's own, typed into the free rows of the shipped book: offered when complete, refused with a reason when not."""
from __future__ import annotations

import openpyxl
import pytest
from openpyxl.utils import range_boundaries

from builder.book import DIST
from builder.engines.session import ErrorValue
from builder.presets import load
from builder.reference import estimate
from builder.reference.finetune_estimate import ESTIMATE_OUTPUTS
from builder.schema import DIMENSIONS
from builder.template import load_templates
from builder.verify import equal

PRESETS = load()
BOOK = DIST / load_templates("finetune").book.file
MODELS, CARDS = len(PRESETS.models), len(PRESETS.cards)
NAME_WRONG, NUMBER_WRONG, WHOLE_WRONG = "name ", "numbers from 1 to 10,000,000", "whole numbers in every"
FAMILY_WRONG, CHOICE_WRONG = "a family of the Options sheet", "Yes or No for tied embeddings"
BIAS_WRONG = "Yes or No for each bias"
WINDOW_WRONG, EVERY_WRONG, ROTARY_WRONG = "whole tokens of sliding window", "full attention every whole number", "a rotary share above 0"
CARD = {"card_name": "My card", "card_memory_mib": 24_000, "card_context_mib": 300}


def row_of(preset, name="My model"):
    """What a user types to describe a preset's model, by column."""
    flags = {flag: "Yes" if getattr(preset.shape, flag) else "No" for flag in ("tied_embeddings", "qkv_bias", "o_bias", "mlp_bias")}
    fields = {"name": name, "family": preset.family_name, **{size: getattr(preset.shape, size) for size in DIMENSIONS}, "parameters": preset.parameters.value}
    attention = {"sliding_window": preset.sliding_window, "full_attention_every": preset.full_attention_every, "rotary_share": preset.rotary_share}
    return {f"model_{field}": value for field, value in (fields | flags | attention).items()}


def preset(name):
    return next(model for model in PRESETS.models if model.name == name)


MODEL = row_of(preset("TinyLlama 1.1B"))


class Book:
    """The book in formualizer, where any cell can be typed over; `tidy` takes everything back."""

    def __init__(self, path):
        import formualizer

        file = openpyxl.load_workbook(path)
        self.book = formualizer.Workbook.from_path(str(path))
        self.areas = {name: next(defined.destinations) for name, defined in file.defined_names.items()}
        self.before = {}
        self.shipped = lambda sheet, row, column: file[sheet].cell(row, column).value

    def type(self, name, value, below=0):
        """Type into the cell of a name, or into a cell of a table: the column's name, and how many rows below its first."""
        place = self._place(name, below)
        self.before.setdefault(place, self.shipped(*place))
        self.book.set_value(*place, value)

    def type_row(self, row, below):
        for name, value in row.items():
            self.type(name, value, below)

    def show(self, name, below=0):
        self.book.evaluate_all()
        value = self.book.get_value(*self._place(name, below))
        return ErrorValue(value["kind"]) if isinstance(value, dict) else value

    def tidy(self):
        for place, value in self.before.items():
            self.book.set_value(*place, value)
        self.before.clear()

    def _place(self, name, below):
        sheet, area = self.areas[name]
        column, row, _, last = range_boundaries(area)
        assert row + below <= last, f"{name} has no row {below}"
        return sheet, row + below, column


@pytest.fixture(scope="module")
def loaded(engine_formualizer, one_column):
    return Book(one_column)


@pytest.fixture
def book(loaded):
    yield loaded
    loaded.tidy()


def answers(book, **typed):
    """Every public output after something was typed into the inputs."""
    for name, value in typed.items():
        book.type(name, value)
    return {name: book.show(name) for name in ESTIMATE_OUTPUTS}


def refused(found, name):
    figures = {output: value for output, value in found.items() if output not in ("fit_verdict", "article_fit_verdict", "input_message")}
    return (found["fit_verdict"] == found["article_fit_verdict"] == "CHECK INPUTS" and f"({name})" in found["input_message"]
            and all(isinstance(value, ErrorValue) for value in figures.values()))


# Dropdowns


@pytest.mark.parametrize("name, offered, count", [("base_model", "model_offered", MODELS + 10), ("gpu_card", "card_offered", CARDS + 10)])
def test_a_dropdown_offers_presets_and_free_rows_and_refuses_blanks(name, offered, count):
    book = openpyxl.load_workbook(BOOK)
    sheet, cell = next(book.defined_names[name].destinations)
    rule = next(rule for rule in book[sheet].data_validations.dataValidation if cell.replace("$", "") in rule.sqref)
    _, first, _, last = range_boundaries(next(book.defined_names[offered].destinations)[1])
    assert rule.type == "list" and rule.formula1 == offered and not rule.allowBlank
    assert last - first + 1 == count


def test_free_rows_that_are_blank_are_not_offered_and_not_wrong(book):
    for table, count in (("model", MODELS), ("card", CARDS)):
        assert [book.show(f"{table}_{column}", below) for column in ("offered", "problem") for below in range(count, count + 10)] == [""] * 20
    assert book.show("all_checks_pass") is True


# Models


@pytest.mark.parametrize("name", ["TinyLlama 1.1B", "Llama 3 8B", "Qwen2.5-0.5B", "Gemma 3 1B", "Phi-4 mini"])
@pytest.mark.parametrize("below", [0, 9], ids=["first free row", "last free row"])
def test_an_own_model_of_a_presets_shape_gives_its_figures(book, name, below):
    book.type_row(row_of(preset(name)), MODELS + below)
    assert book.show("model_offered", MODELS + below) == "My model" and book.show("model_problem", MODELS + below) == ""
    found, expected = answers(book, base_model="My model"), estimate(PRESETS, {"base_model": name})
    assert not [output for output in ESTIMATE_OUTPUTS if not equal(found[output], expected[output])]
    assert book.show("all_checks_pass") is True


MAY_BE_BLANK = ("model_sliding_window", "model_full_attention_every", "model_rotary_share")
WRONG_MODELS = [
    *({column: None} for column in MODEL if column not in MAY_BE_BLANK),
    {"model_name": "TinyLlama 1.1B"}, {"model_name": "LLAMA 2 7B"}, {"model_name": "My * model"}, {"model_name": "Mine?"}, {"model_name": "~mine"},
    {"model_name": " mine"}, {"model_name": "mine "}, {"model_name": " "}, {"model_name": "TinyLlama\u00a01.1B"}, {"model_layers": 1e300}, {"model_parameters": 1e16},
    {"model_o_bias": "<>No"}, {"model_family": ">A"}, {"model_name": 8}, {"model_heads": 30}, {"model_heads": 2}, {"model_layers": 21.5}, {"model_layers": 0}, {"model_hidden_size": -2048},
    {"model_vocabulary": 10_000_001}, {"model_parameters": 10**14 + 1},
    {"model_vocabulary": "32000"}, {"model_kv_heads": 0}, {"model_layers": True},
    {"model_family": "Nobody"}, {"model_tied_embeddings": "Maybe"}, {"model_o_bias": 0},
    {"model_sliding_window": 4096}, {"model_sliding_window": 0}, {"model_sliding_window": 10.5}, {"model_sliding_window": "4k"}, {"model_full_attention_every": 2},
    {"model_full_attention_every": -1}, {"model_full_attention_every": 1.5}, {"model_full_attention_every": "all"}, {"model_full_attention_every": 10_000_001},
    {"model_rotary_share": 0}, {"model_rotary_share": 1.25}, {"model_rotary_share": "half"}, {"model_rotary_share": -1},
]


def reason(change):
    """What is said about a change that makes the row wrong."""
    (column, value), = change.items()
    if column in ("model_name", "model_family"):
        return NAME_WRONG if column == "model_name" else FAMILY_WRONG
    if column.removeprefix("model_") in (*DIMENSIONS, "parameters"):
        return WHOLE_WRONG if isinstance(value, float) and value < 1e6 else NUMBER_WRONG
    if column in MAY_BE_BLANK:
        every_wrong = column == "model_full_attention_every" and value != 2
        return ROTARY_WRONG if column == "model_rotary_share" else EVERY_WRONG if every_wrong else WINDOW_WRONG
    return CHOICE_WRONG if column == "model_tied_embeddings" else BIAS_WRONG


@pytest.mark.parametrize("typed, shown", [
    ((None, None, None), (0, 1, 1)), ((None, 1, 1), (0, 1, 1)), ((4096, 0, None), (4096, 0, 1)), ((512, 6, 0.75), (512, 6, 0.75)),
], ids=str)
def test_the_attention_of_an_own_model_may_be_blank(book, typed, shown):
    book.type_row(MODEL | dict(zip(MAY_BE_BLANK, typed, strict=True)), MODELS)
    assert book.show("model_problem", MODELS) == "" and book.show("model_offered", MODELS) == "My model"
    book.type("base_model", "My model")
    assert tuple(book.show(name.removeprefix("model_")) for name in MAY_BE_BLANK) == shown


@pytest.mark.parametrize("change", WRONG_MODELS, ids=str)
def test_a_wrong_row_says_why_and_is_not_offered(book, change):
    row = MODEL | change
    book.type_row(row, MODELS)
    assert book.show("model_offered", MODELS) == "" and reason(change) in book.show("model_problem", MODELS)
    assert book.show("all_checks_pass") is False
    if row["model_name"] not in [model.name for model in PRESETS.models]:
        assert refused(answers(book, base_model=row["model_name"]), "base_model")


def test_of_two_own_models_with_one_name_the_first_is_offered(book):
    book.type_row(MODEL, MODELS)
    book.type_row(row_of(preset("Llama 3 8B"), "MY MODEL"), MODELS + 1)
    assert [book.show("model_offered", MODELS + below) for below in (0, 1)] == ["My model", ""]
    assert NAME_WRONG in book.show("model_problem", MODELS + 1)
    assert equal(answers(book, base_model="My model")["article_total_gb"], estimate(PRESETS, {})["article_total_gb"])


@pytest.mark.parametrize("change", [{"model_family": "Lla*"}, {"model_family": "llama"}, {"model_o_bias": "no"}, {"model_tied_embeddings": "N?"}], ids=str)
def test_choices_of_an_own_model_are_compared_whole_and_exactly(book, change):
    book.type_row(MODEL | change, MODELS)
    assert book.show("model_offered", MODELS) == "" and reason(change) in book.show("model_problem", MODELS)


# Cards


def test_an_own_card_sets_the_capacity(book):
    book.type_row(CARD, CARDS)
    assert book.show("card_offered", CARDS) == "My card" and book.show("card_problem", CARDS) == ""
    found = answers(book, gpu_card="My card")
    assert found["gpu_capacity_gb"] == pytest.approx(24_000 * 2**20 / 1e9) and found["fit_verdict"] == "✓ FITS"
    assert answers(book, batch_size=32)["fit_verdict"] == "✗ DOES NOT FIT"


def test_an_own_card_of_a_presets_size_gives_its_figures(book):
    like = next(card for card in PRESETS.cards if card.name == "H100 SXM 80GB")
    book.type_row({"card_name": "My card", "card_memory_mib": like.memory.usable_mib, "card_context_mib": like.context.mib,
                   "card_compute_capability": like.compute_capability}, CARDS + 9)
    found, expected = answers(book, gpu_card="My card"), estimate(PRESETS, {})
    assert not [output for output in ESTIMATE_OUTPUTS if not equal(found[output], expected[output])]


def test_an_own_card_that_is_an_estimate_is_said_to_be_one(book):
    book.type_row(CARD | {"card_estimate": "Yes"}, CARDS)
    book.type("gpu_card", "My card")
    assert PRESETS.constants["note_estimate"].value in book.show("input_notes")


@pytest.mark.parametrize("change, why", [
    *(({"card_name": name}, NAME_WRONG) for name in (None, "H100 SXM 80GB", "l4", "H100*", "mine?", "~mine", " mine", 24)),
    *(({"card_estimate": value}, "for the estimate") for value in ("Maybe", "yes", "N*", 1)),
    *(({"card_native_bf16": value}, "for native BF16") for value in ("Maybe", "no", 0)),
    *(({column: value}, "usable MiB and context MiB, both above 0")
      for column in ("card_memory_mib", "card_context_mib") for value in (None, 0, -8, "24 GB", True)),
], ids=str)
def test_a_wrong_card_says_why_and_is_not_offered(book, change, why):
    row = CARD | change
    book.type_row(row, CARDS)
    assert book.show("card_offered", CARDS) == "" and why in book.show("card_problem", CARDS) and book.show("all_checks_pass") is False
    if row["card_name"] not in [card.name for card in PRESETS.cards]:
        assert refused(answers(book, gpu_card=row["card_name"]), "gpu_card")
