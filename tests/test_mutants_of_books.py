"""The proof of the training and of the inference book can fail: break a formula, a constant, a property, a preset, a bound or a name, and some job shows it.

Every job is compared with the reference, as in the proof itself, and by a few laws on what has no twin in the reference.
"""
from __future__ import annotations

import re
from dataclasses import dataclass
from types import ModuleType

import pytest

from builder.inputs import used_name
from builder.layout import lay_out
from builder.presets import load
from builder.reference import quantity_names
from builder.template import load_templates
from tests import inference_jobs, mutants, training_jobs
from tests.faulty_book import Book, Job, faults, job_of, sample, shows, survivors, unexplained, with_odd_presets
from tests.scenarios import bad_inputs, scenarios

SEED = 20261130
BOOKS = {"training": training_jobs, "inference": inference_jobs}
# A formula that is one name, with no other of its unit, and that nothing reads on the sheets of the one-column render.
UNBROKEN = {"figures_given"}
KINDS = {
    "formulas": mutants.formula_mutants,
    "constants": lambda layout, shown: mutants.constant_mutants(layout),
    "choices": lambda layout, shown: mutants.choice_mutants(layout),
    "presets": lambda layout, shown: mutants.preset_mutants(layout),
    "bounds": lambda layout, shown: mutants.bound_mutants(layout),
    "names of inputs": lambda layout, shown: mutants.exchanged_inputs(layout),
}


@dataclass(frozen=True)
class Proof:
    """A book, the jobs that it is compared on, what is looked at, and what every name shows over all jobs."""

    book: Book
    own: ModuleType
    jobs: list[Job]
    names: list[str]
    shown: dict[str, tuple]

    def faults(self, kind: str) -> list[mutants.Mutant]:
        return list(KINDS[kind](self.book.layout, self.shown))

    def survivors(self, kind: str, found: list[mutants.Mutant]) -> list[str]:
        equivalent = self.own.EQUIVALENT.get(kind, {})
        return survivors(self.book, self.jobs, found, self.names, self.own.laws, equivalent)


@pytest.fixture(scope="module", params=BOOKS)
def proof(engine_formualizer, request):
    own = BOOKS[request.param]
    presets = own.with_odd_models(with_odd_presets(load(book=request.param)))
    book = Book(lay_out(presets, load_templates(request.param), all_scenarios=False))
    jobs = [
        *(job_of(presets, {"base_model": model.name}, model.name) for model in presets.models),
        *(job_of(presets, {"gpu_card": card.name}, card.name) for card in presets.cards),
        *(job_of(presets, {name: value}, name) for name, value in bad_inputs(presets)),
        *(job_of(presets, typed) for typed in scenarios(presets, 0, SEED)),
        *(job_of(presets, typed) for typed in own.jobs(presets, book)),
    ]
    names = [name for name in quantity_names(presets) if name in book.layout.names]
    names += [name for spec in presets.inputs for name in (f"{spec.name}_problem", used_name(spec))]
    names += [name for name, _ in own.laws(presets, jobs[0])]
    return Proof(book, own, jobs, list(dict.fromkeys(names)), shows(book, jobs))


def test_a_fault_of_every_formula_shows_and_some_of_every_other_kind(proof):
    """All of it in one test, so that the jobs of a book are computed once."""
    for kind in KINDS:
        found, equivalent = proof.faults(kind), proof.own.EQUIVALENT.get(kind, {})
        if kind == "formulas":
            broken = {mutant.name.split(":")[0] for mutant in found}
            assert {name for name, row in proof.book.layout.rows.items() if row.text} - broken <= UNBROKEN
        alive = proof.survivors(kind, sample(found, equivalent, of_each=kind == "formulas"))
        assert not alive, (kind, *alive)


@pytest.mark.oracle
def test_the_unbroken_book_shows_no_fault(proof):
    presets = proof.book.layout.presets
    for job in proof.jobs:
        proof.book.type(job.typed)
        assert not list(faults(presets, job, proof.book.read(proof.names), proof.own.laws)), job.typed


@pytest.mark.oracle
@pytest.mark.parametrize("kind", KINDS)
def test_every_fault_shows(proof, kind):
    found, equivalent = proof.faults(kind), proof.own.EQUIVALENT.get(kind, {})
    alive = proof.survivors(kind, found)
    print(f"{len(found) - len(alive)} of {len(found)} faults show; the others:", *alive, sep="\n  ")
    assert not unexplained(alive, equivalent), "\n" + "\n".join(unexplained(alive, equivalent))
    assert not [pattern for pattern in equivalent if not any(re.fullmatch(pattern, name) for name in alive)]
