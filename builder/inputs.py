"""Rows of the Workings that every input gets: as typed, whether it is wrong, and what is used."""
from __future__ import annotations

from collections.abc import Iterable, Sequence

from builder.template import Row

CHOICE_KINDS = ("choice", "model", "card")


def choices_name(spec) -> str:
    """Name of the range that an input's dropdown offers."""
    return {"model": "model_offered", "card": "card_offered"}.get(spec.kind) or f"{spec.choices_name}_choices"


def used_name(spec) -> str:
    """Name of the quantity that formulas use: the row of a choice, the number of a number."""
    return f"{spec.name}_row" if spec.kind in CHOICE_KINDS else f"{spec.name}_used"


def typed_formula(cell: str) -> str:
    """What was typed into `cell`: "" for blank, a text that no name can have for an error value."""
    return f'IFERROR(IF(ISBLANK({cell}), "", {cell}), "*error*")'


def problem_row(spec) -> Row:
    """1 where what was typed is not an allowed choice or number, else 0."""
    typed = f"{spec.name}_typed"
    if spec.kind in CHOICE_KINDS:
        choices = choices_name(spec)
        # MATCH reads * and ? as wildcards and ignores case: what was found must be what was typed.
        right = f"EXACT(INDEX({choices}, MATCH({typed}, {choices}, 0)), {typed})"
        if spec.kind != "choice":
            right = f"AND(LEN({typed})>0, {right})"  # free rows that are not offered show as empty text, which blank would find
    else:
        right = f"AND({', '.join(_bounds(spec, typed))})"
    formula = f"IF(IFERROR({right}, FALSE), 0, 1)"
    if spec.blank == "allowed":
        formula = f'IF({typed}="", 0, {formula})'
    return Row(f"{spec.name}_problem", f"{spec.label} is wrong", "0 or 1", formula)


def used_row(spec) -> Row:
    """What the formulas use; not available while the input is wrong, so that no figure is built on a default."""
    typed, problem = f"{spec.name}_typed", f"{spec.name}_problem"
    if spec.kind not in CHOICE_KINDS:
        return Row(used_name(spec), spec.label, spec.unit, f"IF({problem}=0, {typed}, NA())")
    choices = choices_name(spec)
    typed_or_blank = f'IF({typed}="", {spec.name}_blank, {typed})' if spec.blank == "allowed" else typed
    return Row(used_name(spec), f"{spec.label}, row in its list", "row", f"IF({problem}=0, MATCH({typed_or_blank}, {choices}, 0), NA())")


def check_rows(inputs: Sequence, rules: Iterable) -> list[Row]:
    """Problem rows of all inputs and rules, in order, and what follows from them.

    A rule whose quantities are not available holds: the input that withholds them has a problem of its own.
    """
    rows = [problem_row(spec) for spec in inputs]
    rows += [Row(f"{rule.name}_problem", f"{rule.label} is wrong", "0 or 1", f"IF(IFERROR({rule.formula}, TRUE), 0, 1)") for rule in rules]
    span = f"{rows[0].name}:{rows[-1].name}"
    return rows + [
        Row("problem_count", "Inputs to correct", "count", f"SUM({span})"),
        Row("inputs_valid", "All inputs are in range", "number", "problem_count=0"),
        Row("first_problem", "First input to correct, row in the input list", "row", f"IFERROR(MATCH(1, {span}, 0), 0)"),
        Row("first_message", "Message of the first input to correct", "text", 'IF(inputs_valid, "", INDEX(input_messages, first_problem))'),
        Row("more_problems", "How many more", "text", 'IF(problem_count>1, " (and " & TEXT(problem_count - 1, "0") & " more)", "")'),
        Row("input_message", "What to correct", "text", "first_message & more_problems"),
    ]


def _bounds(spec, typed: str) -> list[str]:
    tests = [f"ISNUMBER({typed})"]
    if spec.kind == "whole":
        tests.append(f"{typed}=INT({typed})")
    if spec.minimum is not None:
        tests.append(f"{typed}>={spec.name}_minimum")
    if spec.exclusive_minimum is not None:
        tests.append(f"{typed}>{spec.name}_above")
    if spec.maximum_name is not None:
        tests.append(f"{typed}<=IFERROR({spec.maximum_name}, {typed})")
    elif spec.maximum is not None:
        tests.append(f"{typed}<={spec.name}_maximum")
    if spec.exclusive_maximum is not None:
        tests.append(f"{typed}<{spec.name}_below")
    return tests
