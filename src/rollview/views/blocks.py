"""The kinds of block that every view comes down to: Union, Join, Reduce, Fixpoint; a BagReduce is the general Reduce.

B1  A view is a sequence of blocks; a block reads base relations, other views and earlier blocks alike,
    always through an Input. The last block is the face of the view.
B2  Expressions are Spark SQL text that `views/parse.py` generated from the parsed tree, never the user's text.
    In a Join they are over `alias`.`column` of its inputs; in a Reduce over the columns of its source.
B3  A Reduce keeps one row per key: its keys, the count, and `sums`. Sums are linear: the sum of a group is the
    sum over its changes. Everything shown (`columns`, `having`) is a function of keys, count and sums.
B4  A BagReduce keeps what it shows, and its keys: what it shows of a key is a function of the key's whole bag.
B5  A Fixpoint reads itself through an Input like any other relation. It is never the face of a view.
Plain data: knows neither times nor engines. Words: docs/glossary.md.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Column:
    """A named expression with the type that Spark gives it."""

    name: str
    expr: str
    type: str


@dataclass(frozen=True, slots=True)
class Input:
    """One occurrence of a relation; `columns` are those that the block reads."""

    alias: str
    relation: str
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Generator:
    """A call that makes rows of each row, such as EXPLODE; with `outer` a row of NULLs where it makes none."""

    alias: str
    call: str
    columns: tuple[str, ...]
    outer: bool = False


@dataclass(frozen=True, slots=True)
class Join:
    """Rows made of one row of each input that satisfy `condition`. One input: filter and project; none: one row.

    With `sign` -1 the rows are taken away from those of the other parts. Generators may read the inputs and the
    generators before them.
    """

    inputs: tuple[Input, ...]
    condition: str | None
    columns: tuple[Column, ...]
    sign: int = 1
    generators: tuple[Generator, ...] = ()


@dataclass(frozen=True, slots=True)
class Union:
    """The rows of all parts, those of sign -1 taken away; the parts' columns have the same names and types.

    No row is ever taken away more often than it is there.
    """

    parts: tuple[Join, ...]

    @property
    def signed(self) -> bool:
        """Some part takes rows away."""
        return any(part.sign < 0 for part in self.parts)

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns that every part produces."""
        return self.parts[0].columns


@dataclass(frozen=True, slots=True)
class Reduce:
    """One row per key of `source`, as long as the key has rows; without keys, always one row.

    A sum's `expr` is over the source's columns and `_rv_count`, and includes the multiplication by it; it is
    never NULL. `columns`, `having` and `copies` are over the keys, `_rv_count` and the sums by name. DISTINCT is a
    Reduce with all columns as keys and no sums. With `copies`, a row is shown so many times, which is at least once
    where `having` holds.
    """

    source: Union
    keys: tuple[str, ...]
    sums: tuple[Column, ...]
    columns: tuple[Column, ...]
    having: str | None = None
    copies: str | None = None


@dataclass(frozen=True, slots=True)
class BagReduce:
    """Per key of `source`, what `columns` make of the bag of rows with that key; without keys there is one bag.

    `grouped`: `columns` are aggregates, one row per key (without keys always one), kept if `having` holds. Else they
    are over one row and hold window functions, one row per row of the bag. All are over the source's columns.
    `repeats`: rows count as often as they occur; False where the aggregates do not see duplicates.
    """

    source: Union
    keys: tuple[str, ...]
    columns: tuple[Column, ...]
    having: str | None = None
    grouped: bool = True
    repeats: bool = True

    @property
    def hidden(self) -> tuple[Column, ...]:
        """The keys that are not shown, as the block keeps them."""
        shown = {c.name for c in self.columns}
        types = {c.name: c.type for c in self.source.columns}
        return tuple(Column(k, k, types[k]) for k in self.keys if k not in shown)


LEVEL, SHOWN = "_rv_level", "_rv_shown"


@dataclass(frozen=True, slots=True)
class Fixpoint:
    """The rows of `anchor`, and what `step` makes of the rows that are shown, level by level until nothing comes.

    The parts of `step` read the block itself, each through one input. Every part makes the rows' columns and LEVEL: 0
    in the anchor, one more than that of the row it read in the step. With `distinct` (UNION) a row is shown once, at
    the first level at which it arrives; the block keeps what is shown (SHOWN) and, beside it, all arrivals.
    """

    anchor: Union
    step: Union
    distinct: bool

    @property
    def columns(self) -> tuple[Column, ...]:
        """What is kept."""
        shown = (Column(SHOWN, SHOWN, "boolean"),) if self.distinct else ()
        return (*self.anchor.columns, *shown)


Block = Union | Reduce | BagReduce | Fixpoint


@dataclass(frozen=True, slots=True)
class Definition:
    """A view: its SQL as generated from the tree, its blocks and what the user sees of it.

    Block k but the last is known to later blocks as the relation `name#k`; the last one as `name`.
    """

    name: str
    sql: str
    blocks: tuple[Block, ...]

    @property
    def columns(self) -> tuple[Column, ...]:
        """The visible columns."""
        return self.blocks[-1].columns

    def block_name(self, number: int) -> str:
        """The relation name of block `number`."""
        return self.name if number == len(self.blocks) - 1 else f"{self.name}#{number}"


def joins(block: Block) -> tuple[Join, ...]:
    """The joins that feed the block."""
    match block:
        case Union():
            return block.parts
        case Fixpoint():
            return (*block.anchor.parts, *block.step.parts)
        case _:
            return block.source.parts


def inputs(block: Block) -> tuple[Input, ...]:
    """All inputs of the block, join after join; their positions are what frontiers count."""
    return tuple(i for join in joins(block) for i in join.inputs)
