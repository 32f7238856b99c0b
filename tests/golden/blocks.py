"""What a definition comes down to, as golden files and docs/sql.md show it: blocks, and the terms of one step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rollview.calculus import steps
from rollview.calculus.terms import describe
from rollview.views.blocks import BagReduce, Block, Definition, Fixpoint, Union, inputs, joins


def shown_blocks(definitions: Sequence[Definition]) -> list[str]:
    """Each block with the terms that take it from 1 to 2 when every input changed."""
    lines = []
    for definition in definitions:
        for number, block in enumerate(definition.blocks):
            lines.append(f"{definition.block_name(number)}: {kind_of(block)}")
            lines += [f"  {term}" for term in _terms(block, definition.block_name(number))]
    return lines


def kind_of(block: Block) -> str:
    """The kind of a block, by what it keeps."""
    if isinstance(block, Union):
        parts = block.parts
        return "union" if len(parts) > 1 else "join" if len(parts[0].inputs) > 1 else "select"
    if isinstance(block, Fixpoint):
        return f"fixpoint of {'distinct' if block.distinct else 'all'} rows"
    by = f" by {', '.join(block.keys)}" if block.keys else ""
    if isinstance(block, BagReduce):
        return f"bags{by}, {'groups' if block.grouped else 'windows'}"
    kept = f", {len(block.sums)} sums" if block.sums else ""
    return f"reduce{by}{kept}"


def _terms(block: Block, name: str) -> Iterator[str]:
    count = len(inputs(block))
    targets = [(k, 2) for k in range(count)]
    for number, advance in steps.planned(block, name, (1,) * count, targets, [True] * count):
        assert advance.term is not None
        join = joins(block)[number]
        factors = [describe(f, join.inputs[f.input].relation) for f in advance.term]
        yield f"{'-' if join.sign < 0 else '+'} {' x '.join(factors)}"
