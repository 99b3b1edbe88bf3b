"""The proof can fail: break a formula, a constant, a property, a preset, a bound or a name, and some job shows it.

Every job is compared with the reference, as in the proof itself, and by a few laws on what has no twin in the reference.
"""
from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random

import pytest

from builder.inputs import used_name
from builder.layout import lay_out
from builder.presets import load
from builder.reference import quantity_names
from builder.reference.article_verdict import DOES_NOT_FIT, FITS, NOT_COVERED
from builder.reference.finetune_estimate import PUBLIC_OUTPUTS
from builder.reference.ledger_total import TIGHT
from builder.reference.shown import number
from builder.template import load_templates
from tests import mutants
from tests.faulty_book import EQUIVALENT_ANYWHERE, Book, exact_job, faults, job_of, laws_of_inputs, overridden, sample, shows, survivors, unexplained, with_odd_presets
from tests.scenarios import bad_inputs, scenarios

SEED = 20261130
# Share of the ledger's faults that no job shows, at most, and those of them that no job can show, with the reason.
LEDGER_SURVIVORS = 0.04
LEDGER_EQUIVALENT = {
    r"\w+: (\w+)_typed for \1_used(, place \d+)?": "the other of the two is an error while the input is wrong, and no figure is shown then",
    r"\w+: 1 for 0(, place \d+)?": "the number that it is compared with is 0, 2 or 4, or a count of adapter widths that is 0 or large",
}
# Faults that no job can show, by kind, as patterns of their names, and why.
EQUIVALENT = {
    "formulas": EQUIVALENT_ANYWHERE | {
        r"custom_targets_problem: 1 for 0": "a model that has a target has many inputs and outputs of it",
        r"experts_note: (>=|1) for (>|0)": "the widths of an adapter are large, or 0",
        r"full_attention_every: (0 for 1|model_layers for model_full_attention_every)":
            "read only for a row that is blank there, which no preset is; tests/test_book.py types such rows",
        r"kbit_note: \+ for -": "1 where k-bit preparation is on and the base is not quantised, and 0 or 2 elsewhere",
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


@pytest.fixture(scope="module")
def presets():
    return with_odd_presets(load())


@pytest.fixture(scope="module")
def book(engine_formualizer, presets):
    return Book(lay_out(presets, load_templates("finetune"), all_scenarios=False))


FULL = overridden(1024, 30, 16, 8, 80, 3000, 40_000, 5_000_000) | {
    "adapter_top_layers": 9, "lora_dropout": 0.1, "gpu_capacity_override_gb": 40, "memory_already_used_gb": 3, "base_model": "A"}
# Backward and the optimizer step peak at the same byte: 8 tokens x 400 bytes of activations = 25 x 16 adapter parameters x 8 bytes.
TIE = overridden(8, 1, 1, 1, 8, 8, 8, 1000) | {
    "batch_size": 8, "sequence_length": 1, "lora_rank": 25, "lora_targets": "Custom", "target_q": "Yes", "activation_checkpointing": "On"}
# The optimizer step is the largest moment, and backward larger than forward.
OPTIMIZER = {"activation_checkpointing": "On", "batch_size": 1, "sequence_length": 1, "lora_rank": 4096,
             "base_storage": "FP32", "compute_precision": "As stored, no autocast"}


@pytest.fixture(scope="module")
def jobs(presets, book):
    """Each preset alone, jobs made for one fault each, each wrong input alone, and every pair and boundary."""
    def job(typed, about=""):
        return job_of(presets, typed, about)

    return [
        *(job({"base_model": model.name}, model.name) for model in presets.models),
        *(job({"gpu_card": card.name}, card.name) for card in presets.cards),
        *(job({name: value}, name) for name, value in bad_inputs(presets)),
        *map(job, scenarios(presets, 0, SEED)),
        *map(job, [exact_job(presets, book, "article_total_gb", "batch_size"), *made_jobs(presets)]),
    ]


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


@pytest.fixture(scope="module")
def shown(book, jobs):
    return shows(book, jobs)


def names_read(presets, book, ledger: bool = False) -> list[str]:
    """What is looked at: every quantity with a twin, and those of the laws; of the ledger its public outputs alone, or all."""
    hidden = set() if ledger else ledger_rows(book.layout) - set(PUBLIC_OUTPUTS)
    names = [name for name in quantity_names(presets) if name in book.layout.names and name not in hidden]
    names += [name for spec in presets.inputs for name in (f"{spec.name}_problem", used_name(spec))]
    return names + [f"{item}_at_peak_gb" for item in AT_PEAK] + ["article_items_at_peak_bytes", "ledger_advice", "accounts_note", *READS]


def laws(presets, job) -> Iterator[tuple[str, object]]:
    """What a quantity without a twin must be, or how that follows from the other values; None is unavailable."""
    yield from laws_of_inputs(presets, job)
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


@pytest.mark.oracle
def test_the_unbroken_book_shows_no_fault(book, presets, jobs):
    names = names_read(presets, book, ledger=True)
    for job in jobs:
        book.type(job.typed)
        assert not list(faults(presets, job, book.read(names), laws)), job.typed


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


def tried(presets, jobs, kind):
    """The jobs that faults of a kind are tried on, and whether the ledger reads them as well."""
    of_both = kind in ("constants", "choices", "presets")
    return ([*jobs, *(job_of(presets, typed) for typed in ledger_jobs(presets))] if of_both else jobs), of_both


def test_a_fault_of_every_formula_shows_and_some_of_every_other_kind(book, presets, jobs, shown):
    """All of it in one test, so that the jobs are computed once; the formulas of the ledger are under the marker `oracle`."""
    broken = {mutant.name.split(":")[0] for mutant in mutants.formula_mutants(book.layout, shown)}
    assert broken == {name for name, row in book.layout.rows.items() if row.text}
    for kind in KINDS:
        equivalent, (over, of_both) = EQUIVALENT.get(kind, {}), tried(presets, jobs, kind)
        found = sample(KINDS[kind](book.layout, shown), equivalent, of_each=kind == "formulas")
        alive = survivors(book, over, found, names_read(presets, book, of_both), laws)
        assert not alive, (kind, *alive)


@pytest.mark.oracle
@pytest.mark.parametrize("kind", KINDS)
def test_every_fault_shows(book, presets, jobs, shown, kind):
    found, equivalent, (over, of_both) = list(KINDS[kind](book.layout, shown)), EQUIVALENT.get(kind, {}), tried(presets, jobs, kind)
    alive = survivors(book, over, found, names_read(presets, book, of_both), laws, equivalent)
    print(f"{len(found) - len(alive)} of {len(found)} faults show")
    assert not unexplained(alive, equivalent), "\n" + "\n".join(unexplained(alive, equivalent))
    assert not [pattern for pattern in equivalent if not any(re.fullmatch(pattern, name) for name in alive)]


@pytest.mark.oracle
def test_faults_of_the_ledger_show(book, presets, jobs, shown):
    """Thousands of faults, of which a few change nothing in any job that is tried: terms that a larger one hides, twins of a flag."""
    found = list(formulas(book.layout, shown, ledger=True))
    drawn = [*ledger_jobs(presets), *ledger_jobs(presets, SEED + 1, only_modelled=True), *NORMS_LAST]
    over = [*(job_of(presets, typed) for typed in drawn), *jobs]
    alive = unexplained(survivors(book, over, found, names_read(presets, book, ledger=True), laws), LEDGER_EQUIVALENT)
    print(f"{len(alive)} of {len(found)} faults do not show:", *alive, sep="\n  ")
    assert len(alive) <= LEDGER_SURVIVORS * len(found)
