"""Formulas written in names: reading, names, placing, nesting, and the units they come out in."""
import pytest

from builder.formula import FormulaSyntaxError, Name, Number, Operation, nesting, read
from builder.units import ANY, COUNT, UnitMismatch, describe, dimension, read_units, suffix_unit

BYTE = frozenset({("byte", 1)})
GB = frozenset({("GB", 1)})
UNITS = {"weights_bytes": BYTE, "total_gb": GB, "bytes_per_gb": frozenset({("byte", 1), ("GB", -1)}), "layers": COUNT, "rank": COUNT}


def unit_of(text):
    return dimension(read(text).tree, UNITS.__getitem__)


def test_names_are_listed_once_and_a_span_counts_as_two():
    formula = read('IF(rank>0, SUM(first_one:last_one) * rank, "rank")')
    assert formula.names == ("rank", "first_one", "last_one")


def test_placing_replaces_names_and_nothing_else():
    placed = read('IF(rank>0, SUM(a_x:b_x), "rank is 0")').place({"rank": "G$7", "a_x": "$B2", "b_x": "$D2"}.__getitem__)
    assert placed == 'IF(G$7>0,SUM($B2:$D2),"rank is 0")'


def test_precedence_is_excels():
    assert read("1 + rank * layers").tree == Operation("+", (Number("1"), Operation("*", (Name("rank"), Name("layers")))))
    assert read("1 - rank - layers").tree == Operation("-", (Operation("-", (Number("1"), Name("rank"))), Name("layers")))
    assert read("(1 - rank) * layers").tree.operator == "*"
    assert read("rank & layers = rank").tree.operator == "="


@pytest.mark.parametrize("text", ["", "IF(rank", "rank +", "rank layers", "(rank", "rank)"])
def test_broken_formulas_are_refused(text):
    with pytest.raises(FormulaSyntaxError):
        read(text).tree


def test_nesting_counts_one_function_or_all():
    tree = read("IF(rank>0, IF(layers>0, MAX(1, rank), 0), 0)").tree
    assert nesting(tree, "IF") == 2
    assert nesting(tree) == 3


@pytest.mark.parametrize("text,expected", [
    ("weights_bytes + weights_bytes", BYTE),
    ("weights_bytes / bytes_per_gb", GB),
    ("rank * layers * weights_bytes", BYTE),
    ("MAX(weights_bytes, 0)", BYTE),
    ('IF(rank>0, total_gb, "none")', GB),
    ("IF(rank>0, total_gb, NA())", GB),
    ("weights_bytes / weights_bytes", COUNT),
    ("rank + 1", COUNT),
    ("total_gb<=total_gb", COUNT),
    ('"a" & rank', ANY),
    ("NA()", ANY),
])
def test_units_of_good_formulas(text, expected):
    assert unit_of(text) == expected


@pytest.mark.parametrize("text", [
    "weights_bytes + total_gb", "total_gb + layers", "MAX(weights_bytes, total_gb)", "IF(rank>0, total_gb, weights_bytes)",
    "total_gb<=weights_bytes", "total_gb + 1",
])
def test_units_that_do_not_go_together_are_refused(text):
    with pytest.raises(UnitMismatch):
        unit_of(text)


def test_units_are_described_and_read():
    assert describe(UNITS["bytes_per_gb"]) == "GB^-1 byte"
    assert describe(COUNT) == "a count"
    assert read_units({"GB": {"dimension": {"GB": 1}, "format": "0.0"}})["GB"].dimension == GB
    assert suffix_unit("peak_allocated_gb") == "GB" and suffix_unit("layers") is None
