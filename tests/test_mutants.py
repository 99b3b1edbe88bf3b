"""The proof can fail: break a formula, a constant, a property, a preset, a bound or a name, and some job shows it.

Every job is compared with the reference, as in the proof itself, and by a few laws on what has no twin in the reference.
"""
from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from random import Random

import pytest

from builder.card_schema import CardPreset
from builder.engines.session import ErrorValue, plain
from builder.formula import Formula
from builder.inputs import CHOICE_KINDS, used_name
from builder.layout import lay_out
from builder.presets import load
from builder.reference import estimate, quantity_names
from builder.reference.finetune_estimate import PUBLIC_OUTPUTS
from builder.reference.article_verdict import DOES_NOT_FIT, FITS, NOT_COVERED
from builder.reference.ledger_total import TIGHT
from builder.reference.shown import number
from builder.schema import ModelPreset, Parameters, Shape
from builder.template import load_templates
from builder.verify import compare, equal
from tests import mutants
from tests.scenarios import bad_inputs, scenarios

SEED = 20261130
# Share of the ledger's faults that no job shows, at most, and those of them that no job can show, with the reason.
LEDGER_SURVIVORS = 0.04
LEDGER_EQUIVALENT = {
    r"\w+: (\w+)_typed for \1_used(, place \d+)?": "the other of the two is an error while the input is wrong, and no figure is shown then",
    r"\w+: 1 for 0(, place \d+)?": "the number that it is compared with is 0, 2 or 4, or a count of adapter widths that is 0 or large",
}
EQUIVALENT_EVERY = 10
# Faults that no job can show, by kind, as patterns of their names, and why.
EQUIVALENT = {
    "formulas": {
        r"\w+_problem: without ISNUMBER\(.*\)":
            "a text or a logical value is not equal to its INT, or is above every number and so above the bound",
        r"(base_model|gpu_card)_(problem|row): (model|card)_name for (model|card)_offered(, place 2)?":
            "a row offers its name or nothing, so that either one of the two columns tells what is offered",
        r"custom_targets_problem: 1 for 0": "a model that has a target has many inputs and outputs of it",
        r"other_ecc_known: .*|other_ecc_gb: without other_ecc_known \*": "a card says state and figure of the other setting of ECC or neither",
        r"windows_(gb|note): (without 0|1 for 0)": "what Windows shows is thousands of MiB, or blank",
        r"experts_note: (>=|1) for (>|0)": "the widths of an adapter are large, or 0",
        r"(full_attention_every|rotary_share): 0 for 1|full_attention_every: model_layers for model_full_attention_every":
            "read only for a row that is blank there, which no preset is; tests/test_book.py types such rows",
        r"parameters_preset: model_offered_parameters for model_parameters": "they are the same for every model that can be chosen",
        r"first_problem: 1 for 0": "read only where there is a problem, and then MATCH finds it",
        r"kbit_note: \+ for -": "1 where k-bit preparation is on and the base is not quantised, and 0 or 2 elsewhere",
        r"(lora_dropout_rate|parameters): (\w+)_typed for \2_used(, place 2)?": "the other of the two is an error while the input is wrong",
        r"trainable_parameters: lora_rank_typed for lora_rank_used": "not available while any input is wrong",
        r"[qv]_targeted: kbit_preparation_row for lora_targets_row": "q and v are in every list of targets",
        r"article_dropout_mask_bytes: (/ for \*|without \* bytes_mask)": "bytes_mask is 1",
        r"article_peak_is_optimizer: article_peak_forward_bytes for article_peak_allocated_bytes":
            "where backward is the largest the branch gives 0 anyway, so only forward is left to compare with",
        r"(article_verdict_valid|accounts_note): article_choices_covered for article_covered":
            "they differ while an input is wrong, when neither quantity is shown",
    },
    "presets": {r"(Instinct|Apple) .*: card_compute_capability": "blank and 1 are both not Hopper"},
    "constants": {
        "allocator_small_mib 1.01": "no adapter matrix of a job is that close to the limit",
        "solve_tolerance 1.01e-12": "any number that small makes up for the rounding",
    },
    "choices": {
        r"lora_targets Custom: \w+ 1": "under Custom the switches count and the list is not read",
        r"powers_of_two .*": "it counts how many of them lie below a number, and no job has one that close",
        r"optimizer_choice 8-bit Adam: state_tensors 1": "8-bit states are counted matrix by matrix",
        r"keeps_\w+ By loop: is_yes 1": "under By loop that of the training loop counts",
        r"optimizer_choice (Adam fused|SGD): article_\w+ 1": "the article does not cover these optimizers, and every figure is withheld",
    },
}

AT_PEAK = ("article_frozen_base", "article_adapter_weights", "article_gradients", "article_optimizer_states", "article_autocast_cache",
           "article_activations", "article_matmul_workspace")
# Quantity -> the inputs that it is not available without.
READS = {"tokens_per_step": ("batch_size", "sequence_length"), "lora_dropout_rate": ("lora_dropout",)}
UNCOVERED = {"compute_precision": "As stored, no autocast", "optimizer_choice": "SGD", "attention_kernel": "Eager", "loss_kernel": "Fused or chunked",
             "adapter_dtype": "BF16"}
# Models that the article does not cover.
FOREIGN = {model.name for presets in (load(),) for model in presets.models if not presets.families[model.family].article_covers}
# What the answer strip says of choices that the article does not cover.
REASONS = {
    "no autocast on this base": lambda job: job["compute_precision"] == "As stored, no autocast" and job["base_storage"] != "FP32",
    "this optimizer": lambda job: job["optimizer_choice"] in ("Adam fused", "SGD"),
    "eager attention": lambda job: job["attention_kernel"] == "Eager",
    "a fused or chunked loss": lambda job: job["loss_kernel"] == "Fused or chunked",
    "BF16 adapters": lambda job: job["adapter_dtype"] == "BF16",
    "this model family": lambda job: job["base_model"] in FOREIGN,
}


class Book:
    """The one-column render in formualizer's memory: every cell can be set, and set back."""

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

    def put(self, place: mutants.Place, content: object) -> None:
        sheet, row, column = place
        if isinstance(content, Formula):
            text = self.layout.place(replace(self.cells[place], content=content), row, column, absolute=True)
            self.book.set_formula(sheet, row + 1, column + 1, f"={text}")
        else:
            self.book.set_value(sheet, row + 1, column + 1, content)

    def type(self, job: Mapping[str, object]) -> None:
        for name, value in job.items():
            self.put(self.places[name], value)

    def read(self, names) -> dict[str, object]:
        self.book.evaluate_all()
        return {name: self._value(*self.places[name]) for name in names}

    def broken(self, mutant: mutants.Mutant, names) -> dict[str, object]:
        """What the book shows with the mutant's fault, which is then mended."""
        for place, content in mutant.cells.items():
            self.put(place, content)
        values = self.read(names)
        for place in mutant.cells:
            self.put(place, self.cells[place].content)
        return values

    def column(self, name: str) -> list[object]:
        sheet, row, column = self.places[name]
        return [self._value(sheet, at, column) for at in range(row, self.layout.names[name].last_row + 1)]

    def _value(self, sheet: str, row: int, column: int) -> object:
        value = self.book.get_value(sheet, row + 1, column + 1)
        return ErrorValue(value["kind"]) if isinstance(value, dict) else 0.0 if value is None else value


@pytest.fixture(scope="module")
def presets():
    """The shipped presets, and two models and a card that have what none of them has: short names, and every bias and other norms."""
    shipped = load()
    told = {"source": "made up", "date": date(2026, 11, 30)}
    shape = Shape(hidden_size=1000, layers=7, heads=12, kv_heads=4, head_dim=90, feed_forward=2900, vocabulary=30_011,
                  tied_embeddings=True, qkv_bias=True, o_bias=True, mlp_bias=False, **told)
    other = shape.model_copy(update={"heads": 16, "o_bias": False, "mlp_bias": True})
    odd = [ModelPreset.model_construct(name=name, slug=name, family="odd", family_name="Odd", hub_id="", notes=None, shape=its_shape,
                                       parameters=Parameters(value=90_000_000, published=False, **told)) for name, its_shape in (("A", shape), ("B", other))]
    card = CardPreset.model_construct(**dict(shipped.cards[0]) | {"name": "C", "slug": "c"})
    family = shipped.families["llama"].model_copy(update={"name": "Odd", "norms_per_layer": 5, "final_norms": 3, "qk_norms": 2})
    return replace(shipped, models=(*shipped.models, *odd), cards=(*shipped.cards, card), families={**shipped.families, "odd": family})


@pytest.fixture(scope="module")
def book(engine_formualizer, presets):
    """The book with a name typed into a free row of the models and of the cards: such a row is not offered."""
    found = Book(lay_out(presets, load_templates("finetune"), all_scenarios=False))
    for name, records in (("model_name", presets.models), ("card_name", presets.cards)):
        sheet, row, column = found.places[name]
        found.put((sheet, row + len(records), column), "Half")
    return found


SIZES = ("hidden_size", "layers", "heads", "kv_heads", "head_dim", "feed_forward", "vocabulary", "parameters")
FULL = {f"{name}_override": value for name, value in zip(SIZES, (1024, 30, 16, 8, 80, 3000, 40_000, 5_000_000), strict=True)} | {
    "adapter_top_layers": 9, "lora_dropout": 0.1, "gpu_capacity_override_gb": 40, "memory_already_used_gb": 3, "base_model": "A"}
# Backward and the optimizer step peak at the same byte: 8 tokens x 400 bytes of activations = 25 x 16 adapter parameters x 8 bytes.
TIE = {f"{name}_override": value for name, value in zip(SIZES, (8, 1, 1, 1, 8, 8, 8, 1000), strict=True)} | {
    "batch_size": 8, "sequence_length": 1, "lora_rank": 25, "lora_targets": "Custom", "target_q": "Yes", "activation_checkpointing": "On"}


# The optimizer step is the largest moment, and backward larger than forward.
OPTIMIZER = {"activation_checkpointing": "On", "batch_size": 1, "sequence_length": 1, "lora_rank": 4096,
             "base_storage": "FP32", "compute_precision": "As stored, no autocast"}


@dataclass(frozen=True)
class Job:
    """What is typed into every input, and the reference's answer. One that is about an input or a preset shows faults about it only."""

    typed: Mapping[str, object]
    expected: Mapping[str, object]
    about: str = ""


@pytest.fixture(scope="module")
def jobs(presets, book):
    """Each preset alone, jobs made for one fault each, each wrong input alone, and every pair and boundary."""
    def job(typed, about=""):
        return job_of(presets, typed, about)

    return [
        *(job({"base_model": model.name}, model.name) for model in presets.models),
        *(job({"gpu_card": card.name}, card.name) for card in presets.cards),
        *map(job, [exact_job(presets, book), *made_jobs(presets)]),
        *(job({name: value}, name) for name, value in bad_inputs(presets)),
        *map(job, scenarios(presets, 0, SEED)),
    ]


def job_of(presets, typed: Mapping[str, object], about: str = "") -> Job:
    full = {spec.name: spec.default for spec in presets.inputs} | typed
    return Job(full, estimate(presets, full), about)


def ledger_jobs(presets, seed: int = SEED, only_modelled: bool = False) -> list[dict[str, object]]:
    """Jobs in which one set of projections alone has adapters, over storages, kernels and families: each opens other branches of the ledger."""
    random, found = Random(seed), []
    families = [next(model.name for model in presets.models if model.family == slug) for slug, family in presets.families.items()
                if family.activations_modelled or not only_modelled]
    alone = [("q",), ("k",), ("v",), ("o",), ("gate",), ("up",), ("down",), ("o", "down"), ("v", "up"), ("q", "k", "v", "o", "gate", "up", "down")]
    for storage in ("BF16", "FP32", "INT8", "NF4"):
        for targets in alone:
            for checkpointing in ("Off", "On"):
                found.append({f"target_{name}": "Yes" for name in targets} | {
                    "lora_targets": "Custom", "base_storage": storage, "activation_checkpointing": checkpointing, "base_model": random.choice(families),
                    **{name: random.choice(choices) for name, choices in LEDGER_CHOICES.items()},
                })
    return found


# Layers that begin with no norm, whose embedding output autocast casts under checkpointing.
NORMS_LAST = [{"base_model": "OLMo 2 7B", "activation_checkpointing": checkpointing, "lora_targets": "Custom", target: "Yes"} | base
              for checkpointing in ("On", "Off") for target in ("target_q", "target_up")
              for base in ({"base_storage": "FP32"}, {"base_storage": "NF4", "kbit_preparation": "Yes"}, {"base_storage": "INT8"}, {})]
LEDGER_CHOICES = {
    "kbit_preparation": ("Yes", "No"), "compute_precision": ("BF16 mixed precision", "As stored, no autocast"), "adapter_dtype": ("FP32", "BF16"),
    "lora_dropout": (0, 0.1), "attention_kernel": ("Flash / SDPA", "Eager"), "loss_kernel": ("Full logits", "Fused or chunked"),
    "training_loop": ("Plain loop", "Hugging Face Trainer"), "optimizer_choice": ("Adam", "Adam fused", "8-bit Adam", "SGD"),
    "lora_rank": (1, 3, 8, 64, 300), "adapter_top_layers": (1, 2, 7, None), "batch_size": (1, 1, 2, 5), "sequence_length": (7, 200, 900, 2100, 5000),
    "gpu_card": ("H100 SXM 80GB", "Tesla T4"), "allocator_mode": ("Default", "Expandable segments"),
}


EXPERT_TARGETS = (*({"lora_targets": choice} for choice in ("All linear", "q, v", "q, k, v, o")),
                  *({"lora_targets": "Custom", f"target_{name}": "Yes"} for name in ("gate", "up", "down")))


def made_jobs(presets) -> list[dict[str, object]]:
    targets = [spec.name for spec in presets.inputs if spec.name.startswith("target_")]
    return [
        {"base_model": "Gemma 2 2B", "attention_kernel": "Eager"}, FULL, TIE, OPTIMIZER, FULL | {"base_model": "Phi-4", "lora_targets": "All linear"}, FULL | {"activation_checkpointing": "On", "base_model": "B", "lora_targets": "q, v", "gpu_card": "C",
                         "gpu_capacity_override_gb": None},
        *({name: choice} for name, choice in UNCOVERED.items()),
        *({"lora_targets": choice, name: "Yes"} for choice in ("Custom", "q, v") for name in targets),
        *({"base_model": "Phi-4", "lora_targets": "Custom", name: "Yes"} for name in targets),
        *({"base_model": "GPT-2", "sequence_length": length} for length in (1024, 1025)),
        *({"base_model": "Mixtral 8x7B", "lora_dropout": rate} | targets for rate in (0, 0.1) for targets in EXPERT_TARGETS),
        FULL | {"base_model": "Mixtral 8x7B", "lora_targets": "All linear"}, FULL | {"base_model": "gpt-oss 20B"},
        {"batch_size": 6, "sequence_length": 200},  # the two accountings differ by just over a tenth
        {"lora_targets": "Custom"}, {"heads_override": 6}, {"base_model": "Half"}, {"gpu_card": "Half"},
        {"optimizer_choice": "SGD", "batch_size": -1}, {"batch_size": -1, "lora_rank": 0, "loss_kernel": "None"},
        FULL | {"layers_override": 0},
        *(FULL | {spec.name: "text"} for spec in presets.inputs if spec.kind in ("whole", "number")),
        *({spec.name: None} for spec in presets.inputs),
    ]


def exact_job(presets, book) -> dict[str, object]:
    """A job whose total is its capacity to the last bit, in the book as in the reference."""
    for batch_size in range(1, 100):
        total = estimate(presets, {"batch_size": batch_size})["article_total_gb"]
        book.type({"batch_size": batch_size})
        if book.read(["article_total_gb"]) == {"article_total_gb": total}:
            return {"batch_size": batch_size, "gpu_capacity_override_gb": total}
    raise AssertionError("no batch size of which both give the very same total")


@pytest.fixture(scope="module")
def shown(book, jobs):
    """What every name shows in the unbroken book: a quantity over all jobs, a table column from top to bottom."""
    quantities = {name: [] for name in book.layout.rows}
    for job in jobs:
        book.type(job.typed)
        for name, value in book.read(quantities).items():
            quantities[name].append(repr(value))
    tables = {name: [repr(plain(value)) for value in book.column(name)] for name in book.layout.names if name not in quantities}
    return {name: tuple(values) for name, values in (quantities | tables).items()}


def names_read(presets, book, ledger: bool = False) -> list[str]:
    """What is looked at: every quantity with a twin, and those of the laws; of the ledger its public outputs alone, or all."""
    hidden = set() if ledger else ledger_rows(book.layout) - set(PUBLIC_OUTPUTS)
    names = [name for name in quantity_names(presets) if name in book.layout.names and name not in hidden]
    names += [name for spec in presets.inputs for name in (f"{spec.name}_problem", used_name(spec))]
    return names + [f"{item}_at_peak_gb" for item in AT_PEAK] + ["article_items_at_peak_bytes", "ledger_advice", "accounts_note", *READS]


def faults(presets, job, values) -> Iterator[str]:
    """Names of what is wrong with the values of a job."""
    expected = job.expected
    yield from (row.name for row in compare({name: value for name, value in values.items() if name in expected}, expected, PUBLIC_OUTPUTS) if not row.agrees)
    yield from (name for name, right in laws(presets, job) if not equal(values[name], right(values) if callable(right) else right))


def laws(presets, job) -> Iterator[tuple[str, object]]:
    """What a quantity without a twin must be, or how that follows from the other values; None is unavailable."""
    for spec in presets.inputs:
        yield used_name(spec), lambda values, spec=spec: None if values[f"{spec.name}_problem"] == 1 else used(presets, spec, job.typed[spec.name])
    for name, inputs in READS.items():
        yield name, lambda values, name=name, inputs=inputs: None if any(values[f"{each}_problem"] == 1 for each in inputs) else values[name]
    covered = job.expected["article_covered"]
    for item in AT_PEAK:
        yield f"{item}_at_peak_gb", job.expected[f"{item}_at_peak_bytes"] / 1e9 if covered else NOT_COVERED if covered == 0 else None
    if covered:
        yield "article_items_at_peak_bytes", job.expected["article_peak_allocated_bytes"]
    if covered is not None:
        yield "accounts_note", lambda values: accounts_note(job, values["accounts_note"])
    yield "ledger_advice", advice(presets, job)


def used(presets, spec, typed: object) -> object:
    """What the formulas use of what was typed, where it is right: a number as it is, a choice by its place in the list."""
    if spec.kind not in CHOICE_KINDS:
        return "" if typed is None else typed
    offered = spec.choices or (presets.models if spec.kind == "model" else presets.cards)
    return [choice.name for choice in offered].index(typed or spec.blank_means) + 1


def advice(presets, job) -> str:
    """What the answer strip says beside a verdict; nothing while an input is wrong."""
    constants = presets.constants
    if job.expected["activations_modelled"] == 0:
        return f"{constants['advice_not_modelled'].value}{number(job.expected['held_gb'], 1)}{constants['advice_held'].value}"
    text = {FITS: "advice_fits", TIGHT: "advice_tight", DOES_NOT_FIT: "advice_does_not_fit"}.get(job.expected["fit_verdict"])
    return constants[text].value if text else ""


def accounts_note(job, shown: str) -> str | None:
    """What is said of the two accountings; where the article has no figure, what is shown if that gives the reasons and no other."""
    if job.expected["article_covered"]:
        if job.expected["accounts_differ"]:
            return f"Ledger and article differ by more than a tenth, most in {job.expected['main_difference']}."
        return "Ledger and article agree within a tenth."
    right = str(shown).startswith("The article does not cover") and all((reason in shown) == applies(job.typed) for reason, applies in REASONS.items())
    return shown if right else None


def survivors(book, presets, jobs, found, ledger: bool = False, equivalent: Iterable[str] = ()) -> list[str]:
    """Names of the mutants that no job shows; those that `equivalent` says nobody can show are tried on one job in EQUIVALENT_EVERY."""
    alive, names = list(found), names_read(presets, book, ledger)
    assert len({mutant.name for mutant in alive}) == len(alive) > 0
    hopeless = {mutant.name for mutant in alive if any(re.fullmatch(pattern, mutant.name) for pattern in equivalent)}
    for number, job in enumerate(jobs):
        spared = hopeless if number % EQUIVALENT_EVERY else ()
        if not any(job.about in ("", mutant.about) for mutant in alive if mutant.name not in spared):
            continue
        book.type(job.typed)
        sound = book.read(names)
        assert not any(faults(presets, job, sound)), "an earlier fault was not mended"
        alive = [mutant for mutant in alive
                 if mutant.name in spared or job.about not in ("", mutant.about) or (values := book.broken(mutant, names)) == sound or not any(faults(presets, job, values))]
    return [mutant.name for mutant in alive]


def test_the_unbroken_book_shows_no_fault(book, presets, jobs):
    names = names_read(presets, book, ledger=True)
    for job in jobs:
        book.type(job.typed)
        assert not list(faults(presets, job, book.read(names))), job.typed


def ledger_rows(layout) -> set[str]:
    """Names of the rows of the ledger's line items."""
    return {row.name for line in layout.templates.lines if line.slug.startswith("ledger") for row in line.rows}


def formulas(layout, shown, ledger: bool) -> Iterator:
    """Mutants of the formulas of the ledger, or of all others."""
    rows = ledger_rows(layout)
    return (mutant for mutant in mutants.formula_mutants(layout, shown) if (mutant.name.split(":")[0] in rows) == ledger)


KINDS = {
    "formulas": lambda layout, shown: formulas(layout, shown, ledger=False),
    "constants": lambda layout, shown: mutants.constant_mutants(layout),
    "choices": lambda layout, shown: mutants.choice_mutants(layout),
    "presets": lambda layout, shown: mutants.preset_mutants(layout),
    "bounds": lambda layout, shown: mutants.bound_mutants(layout),
    "names of inputs": lambda layout, shown: mutants.exchanged_inputs(layout),
}


def test_every_formula_is_broken(book, shown):
    broken = {mutant.name.split(":")[0] for mutant in mutants.formula_mutants(book.layout, shown)}
    assert broken == {name for name, row in book.layout.rows.items() if row.text}


@pytest.mark.parametrize("kind", KINDS)
def test_every_fault_shows(book, presets, jobs, shown, kind):
    found = list(KINDS[kind](book.layout, shown))
    of_both = kind in ("constants", "choices", "presets")  # which the ledger reads as well
    tried = [*jobs, *(job_of(presets, typed) for typed in ledger_jobs(presets))] if of_both else jobs
    equivalent = EQUIVALENT.get(kind, {})
    alive = survivors(book, presets, tried, found, of_both, equivalent)
    unexplained = [name for name in alive if not any(re.fullmatch(pattern, name) for pattern in equivalent)]
    assert not unexplained, "\n" + "\n".join(unexplained)
    assert not [pattern for pattern in equivalent if not any(re.fullmatch(pattern, name) for name in alive)]


@pytest.mark.oracle
def test_faults_of_the_ledger_show(book, presets, jobs, shown):
    """Thousands of faults, of which a few change nothing in any job that is tried: terms that a larger one hides, twins of a flag."""
    found = list(formulas(book.layout, shown, ledger=True))
    drawn = [*ledger_jobs(presets), *ledger_jobs(presets, SEED + 1, only_modelled=True), *NORMS_LAST]
    alive = survivors(book, presets, [*(job_of(presets, typed) for typed in drawn), *jobs], found, ledger=True)
    alive = [name for name in alive if not any(re.fullmatch(pattern, name) for pattern in LEDGER_EQUIVALENT)]
    print(f"{len(alive)} of {len(found)} faults do not show:", *alive, sep="\n  ")
    assert len(alive) <= LEDGER_SURVIVORS * len(found)
