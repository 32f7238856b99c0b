"""What nobody reads is left out: hidden blocks, and columns of hidden unions.

Q1  The face and what it reads, directly or through others, stay; a Reduce keeps its keys and sums.
Plain data in, plain data out. Words: docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sqlglot import exp

from rollview.views.blocks import Block, Definition, Fixpoint, Input, Join, Union, inputs
from rollview.views.syntax import expression


def pruned(name: str, sql: str, blocks: Sequence[Block]) -> Definition:
    """The definition without what nobody reads (Q1)."""
    old = Definition(name, sql, tuple(blocks))
    needed: dict[str, set[str]] = {name: {c.name for c in blocks[-1].columns}}
    kept: list[tuple[str, Block]] = []
    for number in range(len(blocks) - 1, -1, -1):
        relation, block = old.block_name(number), blocks[number]
        if relation not in needed:
            continue
        if isinstance(block, Union) and relation != name:
            block = _narrow(block, needed[relation])
        for i in inputs(block):
            needed.setdefault(i.relation, set()).update(i.columns)
        kept.insert(0, (relation, block))
    names = {relation: f"{name}#{k}" for k, (relation, _) in enumerate(kept[:-1])}
    return Definition(name, sql, tuple(_renamed(block, names) for _, block in kept))


def _narrow(block: Union, columns: set[str]) -> Union:
    wanted = [k for k, c in enumerate(block.columns) if c.name in columns] or [0]
    return Union(tuple(_narrow_join(part, wanted) for part in block.parts))


def _narrow_join(join: Join, wanted: Sequence[int]) -> Join:
    join = replace(join, columns=tuple(join.columns[k] for k in wanted))
    read = {
        (c.table, c.name) for text in _texts(join) for c in expression(text).find_all(exp.Column)
    }

    def reading(i: Input) -> Input:
        return replace(i, columns=tuple(c for c in i.columns if (i.alias, c) in read))

    return replace(join, inputs=tuple(reading(i) for i in join.inputs))


def _texts(join: Join) -> Iterator[str]:
    yield from (c.expr for c in join.columns)
    yield from (g.call for g in join.generators)
    if join.condition:
        yield join.condition


def _renamed(block: Block, names: dict[str, str]) -> Block:
    def renamed(union: Union) -> Union:
        return Union(
            tuple(
                replace(
                    part,
                    inputs=tuple(
                        replace(i, relation=names.get(i.relation, i.relation)) for i in part.inputs
                    ),
                )
                for part in union.parts
            )
        )

    match block:
        case Union():
            return renamed(block)
        case Fixpoint():
            return replace(block, anchor=renamed(block.anchor), step=renamed(block.step))
        case _:
            return replace(block, source=renamed(block.source))
