"""What a definition comes down to, as golden files and docs/sql.md show it: blocks, and the terms of one step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rollview.calculus import rolling
from rollview.calculus.terms import describe
from rollview.views.blocks import BagReduce, Block, Definition, Union, joins


def shown_blocks(definitions: Sequence[Definition]) -> list[str]:
    """Each block with the terms that take it from 1 to 2 when every input changed."""
    lines = []
    for definition in definitions:
        for number, block in enumerate(definition.blocks):
            lines.append(f"{definition.block_name(number)}: {kind_of(block)}")
            lines += [f"  {term}" for term in _terms(block)]
    return lines


def kind_of(block: Block) -> str:
    """The kind of a block, by what it keeps."""
    if isinstance(block, Union):
        parts = block.parts
        return "union" if len(parts) > 1 else "join" if len(parts[0].inputs) > 1 else "select"
    by = f" by {', '.join(block.keys)}" if block.keys else ""
    if isinstance(block, BagReduce):
        return f"bags{by}, {'groups' if block.grouped else 'windows'}"
    kept = f", {len(block.sums)} sums" if block.sums else ""
    return f"reduce{by}{kept}"


def _terms(block: Block) -> Iterator[str]:
    for join in joins(block):
        frontier = (1,) * len(join.inputs)
        targets = [(k, 2) for k in range(len(join.inputs))]
        sign = "-" if getattr(join, "sign", 1) < 0 else "+"
        for advance in rolling.advances(frontier, targets, [True] * len(targets)):
            assert advance.term is not None
            factors = [describe(f, join.inputs[f.input].relation) for f in advance.term]
            yield f"{sign} {' x '.join(factors)}"
