"""A laid-out book in an engine's memory in which one fault after another is made, and the jobs that ask whether a fault shows."""
from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from random import Random

from builder.engines.session import ErrorValue, plain
from builder.formula import Formula
from builder.inputs import CHOICE_KINDS, used_name
from builder.reference import estimate, public_outputs
from builder.schema import ModelPreset, Parameters, Shape
from builder.card_schema import CardPreset
from builder.verify import compare, equal
from tests.mutants import Mutant, Place

# A fault of EQUIVALENT, which nobody can show, is tried on one job in so many.
EQUIVALENT_EVERY = 10
# Faults of a kind that `make test` tries; of the formulas it tries one each. The rest of them are under the marker `oracle`.
SAMPLE, SEED = 8, 20261130
SPARE_COLUMN = 100  # right of everything that stands on the Workings
# Faults that no job of any book can show, as patterns of their names, and why.
EQUIVALENT_ANYWHERE = {
    r"\w+_problem: without ISNUMBER\(.*\)":
        "a text or a logical value is not equal to its INT, or is above every number and so above the bound",
    r"(base_model|gpu_card)_(problem|row): (model|card)_name for (model|card)_offered(, place 2)?":
        "a row offers its name or nothing, so that either one of the two columns tells what is offered",
    r"\w+: (\w+)_typed for \1_used(, place \d+)?": "the other of the two is an error while the input is wrong, and no figure is shown then",
    r"other_ecc_known: .*|other_ecc_gb: without other_ecc_known \*": "a card says state and figure of the other setting of ECC or neither",
    r"windows_(gb|note): (without 0|1 for 0)": "what Windows shows is thousands of MiB, or blank",
    r"rotary_share: 0 for 1": "read only for a row that is blank there, which no preset is; tests/test_book.py types such rows",
    r"parameters_preset: model_offered_parameters for model_parameters": "they are the same for every model that can be chosen",
    r"first_problem: 1 for 0": "read only where there is a problem, and then MATCH finds it",
}
SHAPE_SIZES = ("hidden_size", "layers", "heads", "kv_heads", "head_dim", "feed_forward", "vocabulary", "parameters")


class Book:
    """The one-column render in formualizer's memory: every cell can be set, and set back.

    A name is typed into a free row of the models and of the cards: such a row is not offered.
    """

    def __init__(self, layout):
        import formualizer

        self.layout, self.book = layout, formualizer.Workbook()
        self.places = {name: (area.sheet, area.row, area.column) for name, area in layout.names.items()}
        self.cells = {(sheet.name, *at): cell for sheet in layout.sheets for at, cell in sheet.cells.items()}
        for sheet in layout.sheets:
            self.book.add_sheet(sheet.name)
        for place, cell in self.cells.items():
            if cell.content is not None and not isinstance(cell.content, date):
                self.put(place, cell.content)
        for name, records in (("model_name", layout.presets.models), ("card_name", layout.presets.cards)):
            sheet, row, column = self.places[name]
            self.put((sheet, row + len(records), column), "Half")

    def put(self, place: Place, content: object) -> None:
        sheet, row, column = place
        if isinstance(content, Formula):
            self.book.set_formula(sheet, row + 1, column + 1, self.text(place, content))
        else:
            self.book.set_value(sheet, row + 1, column + 1, content)

    def text(self, place: Place, formula: Formula) -> str:
        """What a formula is in a cell, every name a reference."""
        return f"={self.layout.place(replace(self.cells[place], content=formula), *place[1:], absolute=True)}"

    def type(self, job: Mapping[str, object]) -> None:
        for name, value in job.items():
            self.put(self.places[name], value)

    def read(self, names) -> dict[str, object]:
        self.book.evaluate_all()
        return {name: self.value(*self.places[name]) for name in names}

    def broken(self, mutant: Mutant, names) -> dict[str, object]:
        """What the book shows with the mutant's fault, which is then mended."""
        for place, content in mutant.cells.items():
            self.put(place, content)
        values = self.read(names)
        for place in mutant.cells:
            self.put(place, self.cells[place].content)
        return values

    def column(self, name: str) -> list[object]:
        sheet, row, column = self.places[name]
        return [self.value(sheet, at, column) for at in range(row, self.layout.names[name].last_row + 1)]

    def value(self, sheet: str, row: int, column: int) -> object:
        value = self.book.get_value(sheet, row + 1, column + 1)
        return ErrorValue(value["kind"]) if isinstance(value, dict) else 0.0 if value is None else value


class Beside:
    """Another such book, with every broken formula of the Workings beside the sound one: a job in which both give the same shows nothing."""

    def __init__(self, layout, found: Iterable[Mutant]):
        self.book, self.places, count = Book(layout), {}, Counter()
        for mutant in found:
            if len(mutant.cells) == 1 and isinstance(content := next(iter(mutant.cells.values())), Formula):
                place = next(iter(mutant.cells))
                sheet, row, _ = place
                column = SPARE_COLUMN + count[place]
                count[place] += 1
                self.book.book.set_formula(sheet, row + 1, column + 1, self.book.text(place, content))
                self.places[mutant.name] = place, (sheet, row, column)

    def type(self, job: Mapping[str, object]) -> None:
        self.book.type(job)
        self.book.book.evaluate_all()

    def may_show(self, mutant: Mutant) -> bool:
        """Whether the cell with the fault shows something else in the job that was typed."""
        sound, broken = self.places.get(mutant.name, (None, None))
        return sound is None or self.book.value(*sound) != self.book.value(*broken)


@dataclass(frozen=True)
class Job:
    """What is typed into every input, and the reference's answer. One that is about an input or a preset shows faults about it only."""

    typed: Mapping[str, object]
    expected: Mapping[str, object]
    about: str = ""


Laws = Callable[[object, Job], Iterable[tuple[str, object]]]  # what a quantity without a twin must be, or how it follows from other values


def job_of(presets, typed: Mapping[str, object], about: str = "") -> Job:
    full = {spec.name: spec.default for spec in presets.inputs} | typed
    return Job(full, estimate(presets, full), about)


def with_odd_presets(shipped):
    """The shipped presets, and two models and a card that have what none of them has: short names, and every bias and other norms."""
    told = {"source": "made up", "date": date(2026, 11, 30)}
    shape = Shape(hidden_size=1000, layers=7, heads=12, kv_heads=4, head_dim=90, feed_forward=2900, vocabulary=30_011,
                  tied_embeddings=True, qkv_bias=True, o_bias=True, mlp_bias=False, **told)
    other = shape.model_copy(update={"heads": 16, "o_bias": False, "mlp_bias": True})
    odd = [ModelPreset.model_construct(name=name, slug=name, family="odd", family_name="Odd", hub_id="", notes=None, shape=its_shape,
                                       parameters=Parameters(value=90_000_000, published=False, **told)) for name, its_shape in (("A", shape), ("B", other))]
    card = CardPreset.model_construct(**dict(shipped.cards[0]) | {"name": "C", "slug": "c"})
    family = shipped.families["llama"].model_copy(update={"name": "Odd", "norms_per_layer": 5, "final_norms": 3, "qk_norms": 2})
    return replace(shipped, models=(*shipped.models, *odd), cards=(*shipped.cards, card), families={**shipped.families, "odd": family})


def overridden(*sizes: int) -> dict[str, int]:
    """Overrides of the sizes of a shape, in the order of SHAPE_SIZES."""
    return {f"{name}_override": value for name, value in zip(SHAPE_SIZES, sizes, strict=True)}


def exact_job(presets, book: Book, total: str, counted: str) -> dict[str, object]:
    """A job whose total is its capacity to the last bit, in the book as in the reference; `counted` is the input that is tried."""
    for count in range(1, 100):
        right = estimate(presets, {counted: count})[total]
        book.type({counted: count})
        if book.read([total]) == {total: right}:
            return {counted: count, "gpu_capacity_override_gb": right}
    raise AssertionError(f"no {counted} of which both give the very same total")


def shows(book: Book, jobs: Iterable[Job]) -> dict[str, tuple]:
    """What every name shows in the unbroken book: a quantity over all jobs, a table column from top to bottom."""
    quantities = {name: [] for name in book.layout.rows}
    for job in jobs:
        book.type(job.typed)
        for name, value in book.read(quantities).items():
            quantities[name].append(repr(value))
    tables = {name: [repr(plain(value)) for value in book.column(name)] for name in book.layout.names if name not in quantities}
    return {name: tuple(values) for name, values in (quantities | tables).items()}


def used(presets, spec, typed: object) -> object:
    """What the formulas use of what was typed, where it is right: a number as it is, a choice by its place in the list."""
    if spec.kind not in CHOICE_KINDS:
        return "" if typed is None else typed
    offered = spec.choices or (presets.models if spec.kind == "model" else presets.cards)
    return [choice.name for choice in offered].index(typed or spec.blank_means) + 1


def laws_of_inputs(presets, job: Job) -> Iterator[tuple[str, object]]:
    """An input is used as it was typed, and not at all where it is wrong."""
    for spec in presets.inputs:
        yield used_name(spec), lambda values, spec=spec: None if values[f"{spec.name}_problem"] == 1 else used(presets, spec, job.typed[spec.name])


def faults(presets, job: Job, values: Mapping[str, object], laws: Laws) -> Iterator[str]:
    """Names of what is wrong with the values of a job."""
    expected = job.expected
    compared = {name: value for name, value in values.items() if name in expected}
    yield from (row.name for row in compare(compared, expected, public_outputs(presets.book)) if not row.agrees)
    yield from (name for name, right in laws(presets, job) if not equal(values[name], right(values) if callable(right) else right))


def survivors(book: Book, jobs: Iterable[Job], found: Sequence[Mutant], names: Sequence[str], laws: Laws, equivalent: Iterable[str] = ()) -> list[str]:
    """Names of the mutants that no job shows; those that `equivalent` says nobody can show are tried on one job in EQUIVALENT_EVERY."""
    alive, presets = list(found), book.layout.presets
    assert len({mutant.name for mutant in alive}) == len(alive) > 0
    hopeless = {mutant.name for mutant in alive if any(re.fullmatch(pattern, mutant.name) for pattern in equivalent)}
    beside = Beside(book.layout, alive)
    for number, job in enumerate(jobs):
        spared = hopeless if number % EQUIVALENT_EVERY else ()
        tried = [mutant for mutant in alive if mutant.name not in spared and job.about in ("", mutant.about)]
        if not tried:
            continue
        beside.type(job.typed)
        tried = list(filter(beside.may_show, tried))
        if not tried:
            continue
        book.type(job.typed)
        sound = book.read(names)
        assert not any(faults(presets, job, sound, laws)), "an earlier fault was not mended"
        seen = {mutant.name for mutant in tried if (values := book.broken(mutant, names)) != sound and any(faults(presets, job, values, laws))}
        alive = [mutant for mutant in alive if mutant.name not in seen]
    return [mutant.name for mutant in alive]


def unexplained(alive: Iterable[str], equivalent: Iterable[str]) -> list[str]:
    """Those that no pattern of the faults that nobody can show has."""
    return [name for name in alive if not any(re.fullmatch(pattern, name) for pattern in equivalent)]


def sample(found: Iterable[Mutant], equivalent: Iterable[str], of_each: bool) -> list[Mutant]:
    """One fault of each formula, or SAMPLE in all, of those that some job can show."""
    random, showing = Random(SEED), [mutant for mutant in found if unexplained([mutant.name], equivalent)]
    if not of_each:
        return random.sample(showing, min(SAMPLE, len(showing)))
    groups: dict[str, list[Mutant]] = {}
    for mutant in showing:
        groups.setdefault(mutant.name.split(":")[0], []).append(mutant)
    return [random.choice(group) for group in groups.values()]
