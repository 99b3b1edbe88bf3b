"""Jobs to try a workbook with: valid ones that reach every choice and boundary, and single inputs that must be refused."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import cycle
from math import exp, gcd, log
from random import Random

from allpairspy import AllPairs

CHOICE_KINDS = ("choice", "model", "card")
PROJECTIONS = ("q", "k", "v", "o", "gate", "up", "down")
# Where an input has no upper bound of its own: the largest value tried, and the largest that a job is likely to have.
LARGE, LIKELY = 1_000_000, 4096
SMALL = 1e-9  # how far inside an open bound a number is tried
SHARE_COVERED, SHARE_BLANK = 0.97, 0.7


def scenarios(presets, count: int, seed: int) -> list[dict[str, object]]:
    """Valid jobs: what is typed into every input by name, None where it is blank.

    In order: every pair of choices that the article covers, every pair of all choices, every boundary of every number in turn, and
    random jobs up to `count`; the first three always come whole. Every model and every card occurs. The same seed gives the same jobs.
    """
    random = Random(seed)
    models, cards = (_each_then_any(group, random) for group in (presets.models, presets.cards))
    jobs = [(next(models), typed) for covered in (True, False) for typed in _pairs(presets, covered)]
    jobs += _boundaries(presets, models)
    missing = max(count, len(presets.models), len(presets.cards)) - len(jobs)
    jobs += [(next(models), {}) for _ in range(missing)]
    return [
        _by_the_rules(_random_job(presets, random, model) | {"base_model": model.name, "gpu_card": next(cards).name} | typed, model.shape)
        for model, typed in jobs
    ]


def bad_inputs(presets) -> list[tuple[str, object]]:
    """What each input must refuse, one value at a time, all others at their defaults."""
    default_model = next(model for model in presets.models if model.name == _spec(presets, "base_model").default)
    found = []
    for spec in presets.inputs:
        typed = [] if spec.blank == "allowed" else [None, ""]
        typed += [" ", "text", "40 GB", "*", "?", "~", True]
        typed += _wrong_choices(presets, spec) if spec.kind in CHOICE_KINDS else _wrong_numbers(spec, default_model.shape)
        distinct = {(type(value), value): value for value in typed}  # 0 and False are equal, but not alike
        found += [(spec.name, value) for value in distinct.values()]
    return found


def takes_for_number(engine: str, typed: object) -> bool:
    """Whether an engine, unlike Excel, takes a logical value or a text for a number, so that no workbook can refuse it there."""
    if engine == "libreoffice":
        return isinstance(typed, bool)
    if engine == "formulas" and isinstance(typed, str):
        return typed.strip().replace(".", "", 1).isdigit()
    return False


def _wrong_choices(presets, spec) -> list[object]:
    offered = _offered(presets, spec)
    right = spec.default or offered[0]
    wrong = [f"{right} ", f" {right}", f"{right[0]}*", f"{right}~", right.lower(), right.upper(), "No such choice", 8, -8, 0, 1]
    return [value for value in wrong if value not in offered]


def _wrong_numbers(spec, shape) -> list[object]:
    wrong: list[object] = [-8, "8", False]
    if (spec.minimum or 0) > 0 or spec.exclusive_minimum is not None:
        wrong.append(0)
    if spec.minimum is not None:
        wrong.append(spec.minimum - 1)
    if spec.exclusive_maximum is not None:
        wrong += [spec.exclusive_maximum, spec.exclusive_maximum + 1]
    maximum = _maximum(spec, shape)
    if maximum is not None:
        wrong.append(maximum + 1)
    if spec.kind == "whole":
        wrong += [1.5, 0.5]
    return wrong


def _each_then_any(presets: Sequence, random: Random) -> Iterator:
    """Every preset once, then any, without end."""
    yield from presets
    while True:
        yield random.choice(presets)


def _pairs(presets, covered: bool) -> list[dict[str, object]]:
    """Choices in which every two choices of every two inputs meet; with `covered`, of those that the article knows."""
    specs = [spec for spec in presets.inputs if spec.kind == "choice"]
    names = [spec.name for spec in specs]
    return [dict(zip(names, pair)) for pair in AllPairs([_covered(spec) if covered else _choices(spec) for spec in specs])]


def _boundaries(presets, models: Iterator) -> Iterator[tuple[object, dict[str, object]]]:
    """Jobs at the defaults but for one number, which is on or just inside a bound, or blank; checkpointing, or the storage of weights, in turn."""
    defaults = {spec.name: spec.default for spec in presets.inputs if spec.kind not in ("model", "card")}
    turned = next(spec for spec in presets.inputs if spec.name in ("activation_checkpointing", "weight_storage"))
    turns = cycle(_choices(turned))
    for spec in presets.inputs:
        if spec.kind not in CHOICE_KINDS:
            for place in range(5 if spec.blank == "allowed" else 4):
                model = next(models)
                yield model, defaults | {turned.name: next(turns), spec.name: _bounds(spec, model.shape)[place]}


def _bounds(spec, shape) -> list[object]:
    """The lowest number, the next, the last but one, the highest, and blank where it has a meaning."""
    inside = 1 if spec.kind == "whole" else SMALL
    low = spec.minimum if spec.minimum is not None else spec.exclusive_minimum + SMALL
    if spec.exclusive_maximum is not None:
        high = spec.exclusive_maximum - SMALL
    else:
        high = _maximum(spec, shape) or LARGE
    return [low, low + inside, high - inside, high] + ([None] if spec.blank == "allowed" else [])


def _random_job(presets, random: Random, model) -> dict[str, object]:
    job: dict[str, object] = {}
    for spec in presets.inputs:
        if spec.kind == "choice":
            job[spec.name] = random.choice(_covered(spec) if random.random() < SHARE_COVERED else _choices(spec))
        elif spec.kind in ("whole", "number"):
            blank = spec.blank == "allowed" and random.random() < SHARE_BLANK
            job[spec.name] = None if blank else _likely_number(spec, random, model)
    return job


def _likely_number(spec, random: Random, model) -> float:
    dimension = spec.name.removesuffix("_override")
    own = model.parameters.value if dimension == "parameters" else getattr(model.shape, dimension, None)
    if own is not None:  # an override: about the preset's own size
        return max(1, round(own * 2 ** random.uniform(-2, 2)))
    if spec.kind == "whole":
        high = min(_maximum(spec, model.shape) or LIKELY, LIKELY)
        return round(exp(random.uniform(log(spec.minimum), log(high))))
    if spec.exclusive_maximum is not None:
        return round(random.uniform(spec.minimum, spec.exclusive_maximum) * 0.999, 3)
    if spec.maximum is not None and spec.maximum <= 1:
        return round(random.uniform(0.05, spec.maximum), 3)
    return round(exp(random.uniform(log(0.1), log(200))), 3)


def _by_the_rules(job: dict[str, object], shape) -> dict[str, object]:
    """The job with the least change that keeps the rules over several inputs."""
    job = dict(job)
    heads, kv_heads, layers = (job[f"{name}_override"] or getattr(shape, name) for name in ("heads", "kv_heads", "layers"))
    if job["kv_heads_override"] and kv_heads > heads:
        job["heads_override"] = kv_heads
    elif heads % kv_heads:
        job["kv_heads_override"] = gcd(heads, kv_heads)
    if job.get("adapter_top_layers") is not None:
        job["adapter_top_layers"] = min(job["adapter_top_layers"], layers)
    if job.get("lora_targets") == "Custom" and not any(job[f"target_{name}"] == "Yes" for name in PROJECTIONS):
        job["target_q"] = "Yes"
    if job["base_model"] == "Article encoder 1B":
        heads, head_dim = (job[f"{name}_override"] or getattr(shape, name) for name in ("heads", "head_dim"))
        job |= {"hidden_size_override": heads * head_dim, "kv_heads_override": heads}
    if job.get("storage_precision") == "BF16":
        job["compute_precision"] = "As stored, no autocast"
    return job


def _spec(presets, name: str):
    return next(spec for spec in presets.inputs if spec.name == name)


def _maximum(spec, shape) -> float | None:
    return spec.maximum if spec.maximum_name is None else getattr(shape, spec.maximum_name)


def _offered(presets, spec) -> list[str]:
    if spec.kind == "choice":
        return [choice.name for choice in spec.choices]
    return [preset.name for preset in (presets.models if spec.kind == "model" else presets.cards)]


def _choices(spec) -> list[str | None]:
    return [choice.name for choice in spec.choices] + ([None] if spec.blank == "allowed" else [])


def _covered(spec) -> list[str | None]:
    """The choices that the article knows, and blank where it has a meaning."""
    known = [choice.name for choice in spec.choices if getattr(choice, "article_covers", 1)]
    return known + ([None] if spec.blank == "allowed" else [])
