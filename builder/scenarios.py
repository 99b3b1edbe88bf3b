"""Which rows of the Workings a group of scenarios needs, and in whose column each of them stands.

A group types every input of its own (a measured run, a row of the Scenarios sheet), or it changes some rows of the user's job and
inherits the rest: a lever, a method, a model. Such a group holds only rows that its changes reach; every other name stands for the
user's column, or for the column of a group that it builds upon, so that each value is computed once.
"""
from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from builder.errors import TemplateError, nearest
from builder.specs import Scenarios
from builder.template import Row, parse

NUMBER = "scenario_number"


@dataclass
class Group:
    """One group of scenarios in the making: `first` is its first column, `rows` are the rows that it holds."""

    spec: Scenarios
    titles: tuple[str, ...]
    first: int = 0
    rows: frozenset[str] = frozenset()
    parents: tuple[Group, ...] = ()

    @property
    def count(self) -> int:
        return len(self.titles)

    @property
    def derived(self) -> bool:
        """Whether it changes the user's job, rather than typing one of its own."""
        return bool(self.spec.changes or self.spec.upon)

    @cached_property
    def lineage(self) -> tuple[Group, ...]:
        """The group and all that it builds upon, nearest first."""
        return (self, *(group for parent in self.parents for group in parent.lineage))


@dataclass
class Dependencies:
    """Rows by what they read, and by what reads them."""

    reads: Mapping[str, tuple[str, ...]]
    read_by: dict[str, set[str]] = field(default_factory=dict)

    def __post_init__(self):
        for name, parts in self.reads.items():
            for part in parts:
                self.read_by.setdefault(part, set()).add(name)

    def needed(self, names: Iterable[str], stop: frozenset[str] = frozenset()) -> frozenset[str]:
        """The names and all that they read, directly or not; rows of `stop` are not looked into."""
        return _reached(names, lambda name: () if name in stop else self.reads[name])

    def affected(self, names: Iterable[str]) -> frozenset[str]:
        """The names and all that reads them, directly or not."""
        return _reached(names, lambda name: self.read_by.get(name, ()))


def _reached(names: Iterable[str], following) -> frozenset[str]:
    seen: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting.extend(following(name))
    return frozenset(seen)


def dependencies(rows: Mapping[str, Row]) -> Dependencies:
    """What each row of the Workings reads of the others; a span `a:b` reads every row from a to b."""
    order = {name: index for index, name in enumerate(rows)}
    names = list(rows)

    def of(row: Row) -> tuple[str, ...]:
        if not row.text:
            return ()
        found = set(name for name in row.formula.names if name in rows)
        for first, last in row.formula.ranges:
            if first in order and last in order:
                found.update(names[order[first]:order[last] + 1])
        return tuple(found)

    return Dependencies({name: of(row) for name, row in rows.items()})


def asked(texts: Iterable[str], prefix: str, rows: Mapping[str, Row]) -> set[str]:
    """Quantities that some formula asks of a group, as `<prefix>_<quantity>`."""
    pattern = re.compile(rf"\b{re.escape(prefix)}_([a-z0-9_]+)")
    return {name for text in texts for name in pattern.findall(text) if name in rows}


def fill(groups: list[Group], rows: Mapping[str, Row], checks: Iterable[str], texts: Iterable[str]) -> None:
    """Give every group its rows: those that formulas ask of it, what these read, and what groups that build upon it need of it.

    `checks` are the rows that check the inputs: changes of a job are valid where the job is, so no change reaches them.
    """
    depends, texts = dependencies(rows), list(texts)
    checks = frozenset(checks)
    unchecked = Dependencies({name: tuple(part for part in parts if part not in checks) if name not in checks else () for name, parts in depends.reads.items()})
    wanted = {id(group): asked(texts, group.spec.prefix, rows) if group.spec.prefix else set() for group in groups}
    for group in reversed(groups):  # a group stands after those that it builds upon
        if not group.spec.prefix:
            group.rows = frozenset(rows)
        elif not group.derived:
            group.rows = depends.needed(wanted[id(group)] | {NUMBER})
        else:
            _fill_derived(group, unchecked, wanted)


def _fill_derived(group: Group, depends: Dependencies, wanted: dict[int, set[str]]) -> None:
    """Rows that its own changes reach, or those of two groups that it builds upon; what one alone reaches, that one holds."""
    for name in group.spec.changes:
        if name not in depends.reads:
            raise TemplateError(f"scenarios '{group.spec.title}': no quantity '{name}' to change{nearest(name, depends.reads)}")
    changed = frozenset(group.spec.changes)
    reach = [depends.affected(one.spec.changes) for one in group.lineage]
    inherited = frozenset(name for one in group.lineage[1:] for name in one.spec.changes)
    needed = depends.needed(wanted[id(group)], stop=changed | inherited)
    own = {name for name in needed if name in reach[0] or sum(name in each for each in reach[1:]) > 1}
    for parent, each in zip(group.lineage[1:], reach[1:]):
        wanted[id(parent)] |= {name for name in needed - own if name in each}
    reads_number = any(NUMBER in parse(formula, group.spec.title).names for name, formula in group.spec.changes.items() if name in own)
    group.rows = frozenset(own | ({NUMBER} if reads_number else set()))


def same_column(group: Group, index: int) -> dict[str, tuple[int, bool]]:
    """Rows that other groups hold for scenario `index` of a group: name -> (column, whether it is one column for a whole block).

    A group upon two others is their product: the first runs within a block, the second has one scenario a block.
    """
    found: dict[str, tuple[int, bool]] = {}
    inner = group.parents[0].count if group.parents else 1
    places = {0: (index % inner, False), 1: (index // inner, True)}
    for number, parent in enumerate(group.parents):
        at, fixed = places[number]
        found |= {name: (column, fixed or block) for name, (column, block) in same_column(parent, at).items()}
        found |= {name: (parent.first + at, fixed) for name in parent.rows}
    return found
