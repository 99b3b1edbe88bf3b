"""Checks of presets that go beyond one field: shapes, counts, names, choices, defaults, bounds and typed values."""
from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from builder.decision_schema import NEEDED, SHARED, LeverFile, MethodFile, Scenario
from builder.errors import nearest
from builder.option_schema import Choice, Input, InputSpec, OptionFile
from builder.schema import DIMENSIONS, FUSED, PROJECTIONS, Book, Family, ModelPreset, Scalar
from builder.strict_yaml import Document, KeyPath
from builder.validate import shown

WORD, SIZE = re.compile(r"[a-z0-9]+"), re.compile(r"\d+gb")
BOUNDS = ("minimum", "maximum", "exclusive_minimum", "exclusive_maximum", "maximum_name")


def unique(named: Iterable[tuple[Document, KeyPath, str]]) -> None:
    """Refuse a name that stands twice, also where only its case differs: lookups in a spreadsheet ignore case."""
    first: dict[str, tuple[str, str]] = {}
    for document, keys, name in named:
        where = document.where(keys)
        if name.casefold() in first:
            other, place = first[name.casefold()]
            difference = "" if other == name else f" as '{other}', which differs in case only,"
            raise document.problem(keys, f"the name '{name}' is taken{difference} at {place}")
        first[name.casefold()] = (name, where)


def file_name(document: Document, *texts: str) -> None:
    """A preset's file is called after what it holds: every word of its name but a size stands in one of the texts, of which the first
    is `name`.
    """
    known = {word for text in texts for word in WORD.findall(text.casefold())}
    if odd := [word for word in WORD.findall(document.path.stem) if word not in known and not SIZE.fullmatch(word)]:
        raise document.problem(("name",), f"name: '{texts[0]}' does not go with the file name '{document.path.stem}', whose '{odd[0]}' is not in {' or '.join(map(repr, texts))}")


def family(document: Document, found: Family) -> None:
    """The modules are those that the other keys imply, under their names, and what they imply goes together."""
    for name, parts in found.fused_projections.items():
        if parts != FUSED[name]:
            raise document.problem(("fused_projections", name), f"{name}: {', '.join(parts)}, but the formulas fuse {', '.join(FUSED[name])}")
    here = projections(found)
    for odd in (name for name in found.modules if name not in here):
        raise document.problem(("modules", odd), f"modules: {odd}, but a layer of this family has {', '.join(here)}")
    for missing in (name for name in here if name not in found.modules):
        raise document.problem(("modules",), f"modules: {missing} is missing; a layer of this family has {', '.join(here)}")
    for key, other in (("wide_qk_norms", "qk_norms"), ("adapts_experts", "experts"), ("router_bias", "experts"), ("article_covers", "activations_modelled")):
        if getattr(found, key) and not getattr(found, other):
            raise document.problem((key,), f"{key}: true, but {other} is {shown(getattr(found, other))}")


def projections(found: Family) -> list[str]:
    """The projections of a layer, a fused one in place of its parts, and the router of experts."""
    names = [name for name in PROJECTIONS if found.gated_mlp or name != "gate"]
    for whole, parts in found.fused_projections.items():
        names = [whole if name == parts[0] else name for name in names if name not in parts[1:]]
    return names + ["router"] * found.experts


def model(document: Document, found: ModelPreset, of_family: Family) -> None:
    """Attention heads share KV heads evenly, a sliding window has layers that slide, and the count is the one that the shape gives."""
    heads, kv_heads = found.shape.heads, found.shape.kv_heads
    if heads % kv_heads:
        raise document.problem(("shape", "kv_heads"), f"kv_heads: {kv_heads} does not divide heads, {heads}; expected a divisor of {heads}")
    if (found.sliding_window is None) != (found.full_attention_every == 1):
        problem = "missing, but some layers slide" if found.sliding_window is None else f"{found.sliding_window}, but every layer has full attention"
        raise document.problem(("sliding_window",), f"sliding_window: {problem} (full_attention_every: {found.full_attention_every})")
    for key in ("experts", "learned_positions"):
        given, expected = getattr(found.shape, key), getattr(of_family, key)
        if (given is not None) != expected:
            raise document.problem(("shape", key), f"{key}: {'missing, but' if given is None else f'{given}, but'} family '{of_family.name}' has "
                                   f"{'them' if expected else 'none'}")
    experts, active = found.shape.experts, found.shape.experts_per_token
    if (active is None) != (experts is None) or (active or 0) > (experts or 0):
        raise document.problem(("shape", "experts_per_token"), f"experts_per_token: {active or 'missing'}; expected 1 to {experts} where there are experts, else nothing")
    value, counted = found.parameters.value, found.parameters_from_shape(of_family)
    if value != counted:
        raise document.problem(("parameters", "value"), f"value: {value} parameters, but the shape gives {counted}, a difference of {value - counted:+}")
    published, why = found.parameters.published_value, found.parameters.difference
    if (published is None) != (why is None) or published == value or (published and not found.parameters.published):
        raise document.problem(("parameters",), "published_value and difference: one says what was published, the other why the shape gives another count; "
                               "both or neither, with published: true")


def option_names(files: Sequence[tuple[Document, OptionFile]]) -> None:
    """No two inputs, lists or rules of one name, in whatever files; something in every file."""
    for document, file in files:
        if not (file.inputs or file.lists or file.rules):
            raise document.problem((), "no inputs, lists or rules in this file")
    unique((document, (kind, index, "name"), item.name) for document, file in files for kind in ("lists", "inputs", "rules") for index, item in enumerate(getattr(file, kind)))


def choices(document: Document, keys: KeyPath, rows: Sequence[Choice]) -> None:
    """Choices of one list have names of their own and the same properties, which are the columns of a table."""
    unique((document, (*keys, index, "name"), row.name) for index, row in enumerate(rows))
    expected = list(rows[0].properties)
    for index, row in enumerate(rows):
        for odd in row.properties.keys() - set(expected):
            raise document.problem((*keys, index, odd), f"unknown property '{odd}' of '{row.name}': the first choice has {', '.join(expected) or 'none'}{nearest(odd, expected)}")
        for missing in set(expected) - row.properties.keys():
            raise document.problem((*keys, index), f"the property '{missing}' of '{row.name}' is missing: the first choice has {', '.join(expected)}")


def input_keys(document: Document, keys: KeyPath, spec: InputSpec) -> None:
    """An input has the keys that its kind needs, and no others."""

    def refuse(key: str, message: str):
        raise document.problem((*keys, key), f"{key}: {message}")

    if (spec.kind == "choice") != (spec.choices is not None):
        refuse("choices", "missing; a choice needs them" if spec.choices is None else f"not for kind {spec.kind}; only a choice has them")
    if (spec.blank == "allowed") != (spec.blank_means is not None):
        refuse("blank_means", "missing; say what a blank means where it is allowed" if spec.blank_means is None else "not where a blank gives the message")
    given = [key for key in BOUNDS if getattr(spec, key) is not None]
    if spec.kind not in ("whole", "number"):
        for key in given:
            refuse(key, f"not for kind {spec.kind}; only whole and number have bounds")
        return
    if spec.minimum is None and (spec.kind == "whole" or spec.exclusive_minimum is None):
        refuse("minimum", f"missing; kind {spec.kind} needs a lower bound")
    if spec.kind == "whole":
        for key in given:
            if key.startswith("exclusive") or isinstance(getattr(spec, key), float):
                refuse(key, f"{shown(getattr(spec, key))} is not for kind whole; bounds of a whole number are whole, and included")
    if spec.maximum_name is not None and spec.maximum_name not in DIMENSIONS:
        refuse("maximum_name", f"'{spec.maximum_name}' is not one of {', '.join(DIMENSIONS)}{nearest(spec.maximum_name, DIMENSIONS)}")
    for pair in (("minimum", "exclusive_minimum"), ("maximum", "exclusive_maximum"), ("maximum", "maximum_name")):
        if set(pair) <= set(given):
            refuse(pair[1], f"not beside {pair[0]}; one of them")


def input_values(document: Document, keys: KeyPath, item: Input, names: Sequence[str] | None) -> None:
    """The default, and what a blank means, are among the choices (`names`) or within the bounds."""
    if item.default is None:
        if item.blank == "message":
            raise document.problem((*keys, "default"), "default: null, but a blank gives the message; expected a value")
    elif wrong := problem_of(item, item.default, names):
        raise document.problem((*keys, "default"), f"default: {wrong}")
    if names is not None and item.blank_means is not None and (wrong := problem_of(item, item.blank_means, names)):
        raise document.problem((*keys, "blank_means"), f"blank_means: {wrong}")


def problem_of(item: Input, value: str | int | float, names: Sequence[str] | None) -> str:
    """Why `value` is not a valid one of the input, "" where it is. A bound by a dimension of the model is not looked at."""
    if names is not None:
        return "" if value in names else f"{shown(value)} is not one of the choices{nearest(value, names)}"
    if isinstance(value, str) or (item.kind == "whole" and value % 1):
        return f"{shown(value)} is not a {item.kind if item.kind == 'number' else 'whole number'}"
    within = (
        (item.minimum is None or value >= item.minimum)
        and (item.maximum is None or value <= item.maximum)
        and (item.exclusive_minimum is None or value > item.exclusive_minimum)
        and (item.exclusive_maximum is None or value < item.exclusive_maximum)
    )
    bounds = ", ".join(f"{key} {getattr(item, key)}" for key in BOUNDS if getattr(item, key) is not None)
    return "" if within else f"{shown(value)} is out of bounds; expected {bounds}"


def typed(document: Document, keys: KeyPath, values: Mapping[str, Scalar], inputs: Iterable[Input], offered: Mapping[str, Sequence[str]]) -> None:
    """Every name is that of an input, and every value one that it takes. `offered` are names by kind of input."""
    known = {item.name: item for item in inputs}
    for name, value in values.items():
        if name not in known:
            raise document.problem((*keys, name), f"{keys[-1]}: no input is called '{name}'{nearest(name, known)}")
        item = known[name]
        if wrong := problem_of(item, value, [choice.name for choice in item.choices] if item.choices else offered.get(item.kind)):
            raise document.problem((*keys, name), f"{name}: {wrong}")


def lever(document: Document, found: LeverFile, inputs: Iterable[Input]) -> None:
    """A lever types something into inputs, or takes shares of numbers in others."""
    for name in found.sets.keys() & found.shares.keys():
        raise document.problem(("shares", name), f"shares: '{name}' stands under sets as well; one of them")
    if not (found.sets or found.shares):
        raise document.problem((), f"no sets or shares: '{found.name}' changes nothing")
    names = {item.name for item in inputs}
    shared = [name for name in SHARED if name in names]
    for name in found.shares:
        if name not in shared:
            raise document.problem(("shares", name), f"shares: '{name}' is not one of {', '.join(shared)}{nearest(name, shared)}")


def methods(files: Sequence[tuple[Document, MethodFile]]) -> None:
    """Every method sets what the first does: these inputs are the columns of a table."""
    for document, found in files:
        if not found.sets:
            raise document.problem(("sets",), f"sets: empty; '{found.name}' sets nothing")
        first = files[0][1]
        for odd in (name for name in found.sets if name not in first.sets):
            raise document.problem(("sets", odd), f"sets: {odd}, but '{first.name}' sets {', '.join(first.sets)}")
        for missing in (name for name in first.sets if name not in found.sets):
            raise document.problem(("sets",), f"sets: {missing} is missing, which '{first.name}' sets")


def scenario(document: Document, index: int, found: Scenario, inputs: Iterable[Input], models: Iterable[ModelPreset], book: Book) -> None:
    """An example names all that makes it the same job on every sheet, and goes no deeper than its model does."""
    row = ("rows", index)
    for missing in (name for name in NEEDED[book] if name not in found.sets):
        raise document.problem((*row, "sets"), f"sets: {missing} is missing; an example must not move with the Sizing sheet, so it sets {', '.join(NEEDED[book])}")
    shape = next(model.shape for model in models if model.name == found.sets["base_model"])
    for item in inputs:
        value = found.sets.get(item.name)
        if value is None or item.maximum_name is None:
            continue
        limit = found.sets.get(f"{item.maximum_name}_override", getattr(shape, item.maximum_name))
        if value > limit:
            own = item.name in document.data["rows"][index].get("sets", {})
            raise document.problem((*row, "sets", item.name) if own else ("common", item.name),
                                   f"{item.name}: {value} is out of bounds; '{found.sets['base_model']}' has {limit} {item.maximum_name}")
