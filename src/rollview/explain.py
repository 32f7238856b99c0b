"""Explain: what the next refresh of a view will run, before it runs.

X1  The plan comes from the same functions that propagate calls; the SQL is the text of the same tree, with leaves
    named after what they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from rollview.calculus.plane import Axis, draw
from rollview.calculus.terms import AsOf, Changes, Factor, Timed, describe
from rollview.changes import Csn
from rollview.define import parsed
from rollview.ledger.learning import FULL, Folding, folding, learned_from
from rollview.ledger.resolution import resolution_of
from rollview.ledger.store import ViewRow
from rollview.propagate import Plan, first_width, plan_step, reach_of, step_query, terms_of
from rollview.refresh import estimated, technique
from rollview.spark.fetched import explained_fetches
from rollview.spark.lookups import explained_lookups, large_relations
from rollview.spark.probes import explained_probes
from rollview.spark.relations import Relations
from rollview.views.blocks import (
    BagReduce,
    Block,
    Definition,
    Fixpoint,
    Reduce,
    Union,
    inputs,
    joins,
)


@dataclass(frozen=True, slots=True)
class ExplainedStep:
    """One step: which input goes from where to where, the terms in words, and the SQL.

    `asked`: which table is asked or looked up how; `round_trips`: how many each database takes.
    """

    block: str
    advances: tuple[dict[str, Any], ...]
    terms: tuple[str, ...]
    sql: str
    asked: tuple[str, ...] = ()
    round_trips: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Explanation:
    """A view's blocks, and what its next refresh will run.

    `estimate` in seconds; `learned`: the factors by which earlier work was slower than the constants say;
    `folding`: how far each block is from its next fold.
    """

    view: str
    blocks: tuple[dict[str, Any], ...]
    technique: str
    reason: str
    steps: tuple[ExplainedStep, ...] = ()
    estimate: dict[str, float] | None = None
    plane: str = ""
    learned: dict[str, float] | None = None
    folding: tuple[Folding, ...] = ()


def explain(relations: Relations, view: ViewRow) -> Explanation:
    """The next step of every block, by the timeline as captured so far."""
    to = relations.ledger.newest_csn()
    steps, planes = [], []
    for number, block in enumerate(view.definition.blocks):
        name = view.definition.block_name(number)
        row = relations.ledger.block(name)
        assert row is not None, "the view's blocks are in the ledger"
        reach = [reach_of(relations, name, i, at, to) for i, at in
                 zip(inputs(block), row.frontier, strict=True)]  # fmt: skip
        width = first_width(relations, block, view.options)
        plan = plan_step(relations, name, block, [Csn(max(r.to, at)) for r, at in
                         zip(reach, row.frontier, strict=True)], width, resolution_of(view.options))  # fmt: skip
        planes.append(draw([
            Axis(i.relation, row.oldest, at, after)
            for i, at, after in zip(inputs(block), row.frontier, plan.frontier, strict=True)
        ], to))  # fmt: skip
        if plan.advances and not plan.empty:
            steps.append(_explained(relations, name, block, plan, row.frontier))
    blocks = relations.ledger.blocks(view.name)
    factors = learned_from(relations.ledger, view.name)
    costs = factors.applied(estimated(relations, view, to))
    full = view.options.get("policy", "auto") == "auto" and costs.full < costs.incremental
    how = "NO_OP" if not steps else FULL if full else technique(relations, view, to)
    why = "nothing that the view reads has changed" if not steps else "by estimated cost"
    return Explanation(view.name, _blocks(view.definition), how, why, tuple(steps),
                       {"incremental": costs.incremental, "full": costs.full}, "\n\n".join(planes),
                       asdict(factors),
                       tuple(folding(relations.ledger, b, factors) for b in blocks))  # fmt: skip


def explain_definition(relations: Relations, name: str, sql: str) -> Explanation:
    """What a view would come down to; refused as its creation would be."""
    definition = parsed(relations, name, sql)
    return Explanation(name, _blocks(definition), FULL, "the view is not built yet")


def _explained(
    relations: Relations, name: str, block: Block, plan: Plan, frontier: tuple[Csn, ...]
) -> ExplainedStep:
    sql = step_query(block, plan, _leaf_name()).sql("spark", pretty=True)
    probes = explained_probes(relations, terms_of(block, plan))
    fetches, lookups = [], []
    for each in terms_of(block, plan):
        fetched = explained_fetches(relations, each.join, each.term)
        fetches += fetched
        if not fetched:
            lookups += explained_lookups(relations, [each], large_relations(relations, block))
    moves, terms = [], []
    for number, advance in plan.advances:
        join = joins(block)[number]
        first = sum(len(j.inputs) for j in joins(block)[:number])
        moves.append({"input": join.inputs[advance.input].relation,
                      "from": frontier[first + advance.input], "to": advance.to})  # fmt: skip
        if advance.term is not None:
            product = " x ".join(describe(f, join.inputs[f.input].relation) for f in advance.term)
            terms.append(product if join.sign > 0 else f"minus {product}")
    return ExplainedStep(name, tuple(moves), tuple(terms), sql, (*probes.asked, *dict.fromkeys((*fetches, *lookups))),
                         probes.round_trips)  # fmt: skip


def _leaf_name() -> Callable[[Factor, str, tuple[str, ...]], str]:
    def name(factor: Factor, relation: str, columns: tuple[str, ...]) -> str:
        match factor:
            case Changes(_, lo, hi):
                return f"{relation} changes ({lo}, {hi}]"
            case AsOf(_, at):
                return f"{relation} as of {at}"
            case Timed(_, lo, at):
                return f"{relation} as of {at} timed since {lo}"

    return name


def _blocks(definition: Definition) -> tuple[dict[str, Any], ...]:
    return tuple(
        {
            "block": definition.block_name(k),
            "kind": _kind(b),
            "inputs": [i.relation for i in inputs(b)],
            "keys": [] if isinstance(b, Union | Fixpoint) else list(b.keys),
            "remembers": _remembered(b),
        }
        for k, b in enumerate(definition.blocks)
    )


def _kind(block: Block) -> str:
    if isinstance(block, Union):
        return "Union" if len(block.parts) > 1 else "Join"
    return type(block).__name__


def _remembered(block: Block) -> list[str]:
    """The memory of a Reduce: its sums; of a BagReduce, what is read as of the mark, stored or derived.

    A Fixpoint remembers at which level each row arrives, how often.
    """
    if isinstance(block, Fixpoint):
        return ["levels"]
    if isinstance(block, BagReduce):
        read = sorted({i.relation for i in inputs(block)})
        return [f"{name} ({'stored' if '#' in name else 'derived'})" for name in read]
    return [s.name for s in block.sums] if isinstance(block, Reduce) else []
