"""From a YAML document to a checked model, or to an error that names file, line, column, the value and the nearest valid name."""
from __future__ import annotations

import re
import types
import typing
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from builder.errors import nearest
from builder.strict_yaml import Document, KeyPath

Model = TypeVar("Model", bound=BaseModel)

WHAT = re.compile(r"^(Input|String|List) (?=should)")
QUOTED = re.compile(r"'((?:[^'\\]|\\.)*)'")


def validate(model: type[Model], document: Document, keys: KeyPath = ()) -> Model:
    """The document's data, or the part of it at `keys`, as `model`.

    Raises the document's kind of error about the first problem in the file, an unknown key before what else is wrong, with
    the number of the others.
    """
    data = document.data
    for key in keys:
        data = data[key]
    try:
        return model.model_validate(data)
    except ValidationError as error:
        details = error.errors(include_url=False)
    details = [detail for detail in details if not _is_other_branch(detail)] or details
    details.sort(key=lambda detail: (detail["type"] != "extra_forbidden", document.mark((*keys, *detail["loc"]))))
    first = details[0]
    more = f" (and {len(details) - 1} more in this file)" if len(details) > 1 else ""
    raise document.problem((*keys, *first["loc"]), _message(first, model, document.known((*keys, *first["loc"]))) + more) from None


def shown(value: Any, limit: int = 60) -> str:
    """A value as an error shows it: quoted if it is text, cut off if it is long."""
    text = f"'{value}'" if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
    return text if len(text) <= limit else text[:limit] + "..."


def _is_other_branch(detail: ErrorDetails) -> bool:
    """Whether this only says that the other branch of a union such as `str | list[Choice]` was not taken."""
    is_container = isinstance(detail["input"], (dict, list))
    return (detail["type"] == "string_type" and is_container) or (detail["type"] == "model_type" and not is_container)


def _message(detail: ErrorDetails, model: type[BaseModel], place: KeyPath) -> str:
    """What is wrong; `place` is the part of the error's location that the file has."""
    kind, value = detail["type"], detail["input"]
    key = next((part for part in reversed(place) if isinstance(part, str)), "the file")
    if kind == "extra_forbidden":
        valid = _fields(model, detail["loc"][:-1])
        return f"unknown key '{key}'" + (nearest(key, valid) or f"; expected one of {', '.join(valid)}")
    if kind == "missing":
        return f"the key '{detail['loc'][-1]}' is missing"
    if kind in ("literal_error", "union_tag_invalid"):
        context = detail["ctx"]
        choices = QUOTED.findall(context.get("expected") or context["expected_tags"])
        wrong = context.get("tag", value)
        return f"{key}: {shown(wrong)} is not one of {', '.join(choices)}{nearest(wrong, choices)}"
    if kind == "string_type" and not isinstance(value, (dict, list)) and value is not None:
        return f"{key}: {shown(value)} is not text; quote it"
    if kind == "value_error":
        return f"{key}: {shown(value)} {detail['ctx']['error']}"
    return f"{key}: {shown(value)} {WHAT.sub('', detail['msg'])}"


def _fields(model: type[BaseModel], path: tuple[int | str, ...]) -> list[str]:
    """Names of the fields of the model that `path`, a pydantic location, leads to."""
    found = [model]
    for part in path:
        deeper = [inner for outer in found if part in outer.model_fields for inner in _models(outer.model_fields[str(part)].annotation)]
        if deeper:
            found = deeper
        elif isinstance(part, str):  # which member of a union, by class name or by the value of its `kind`
            found = [outer for outer in found if part == outer.__name__ or _is_kind(outer, part)] or found
    return list(dict.fromkeys(name for outer in found for name in outer.model_fields))


def _models(annotation: Any) -> list[type[BaseModel]]:
    """Every model inside an annotation such as `list[A | B] | None`."""
    if isinstance(annotation, type) and not isinstance(annotation, types.GenericAlias) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for argument in typing.get_args(annotation) for model in _models(argument)]


def _is_kind(model: type[BaseModel], tag: str) -> bool:
    field = model.model_fields.get("kind")
    return field is not None and tag in typing.get_args(field.annotation)
