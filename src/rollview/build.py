"""Build: the first contents of a view, and a full recompute, as of one CSN.

U1  A build has a CSN from the start; every read in it is as of that CSN, so that it can be interrupted and resumed
    and still gives the view at that one time.
U2  A large build goes in pieces, cut by a hash of the rows of each join's largest input; the union of the pieces is
    the whole, since a join is linear in each input. A BagReduce is not: its pieces are cut by its keys; a Fixpoint is
    one piece. A piece that is done is not done again.
U3  Readers see the old contents until the ledger's commit.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sqlglot import exp

from rollview.calculus.cost import expected_rows, number_of_buckets
from rollview.calculus.fixpoint import built_levels
from rollview.calculus.queries import column, state_query, subquery, union_all
from rollview.calculus.rolled import signed, whole
from rollview.calculus.steps import built
from rollview.calculus.terms import AsOf
from rollview.changes import COUNT, STAMP, Csn
from rollview.failpoints import Failpoint, failpoint
from rollview.ledger.store import Ledger
from rollview.spark.evaluate import Leaves, bound, counted
from rollview.spark.failures import spark_errors
from rollview.spark.recursion import SparkRecursion
from rollview.spark.relations import Relations
from rollview.spark.rolled import Folded, RolledTable
from rollview.views.blocks import (
    BagReduce,
    Block,
    Definition,
    Fixpoint,
    Join,
    Reduce,
    inputs,
    joins,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PIECE_ROWS = 20_000_000
"""Rows of the largest input that one piece of a build takes, unless the view sets `piece_rows`."""

Progress = Callable[[int, int, str], None]


def build(
    relations: Relations,
    definition: Definition,
    at: Csn,
    options: Mapping[str, object],
    progress: Progress,
) -> None:
    """Fill every block as of `at` and make the view ready at that time."""
    for number, block in enumerate(definition.blocks):
        name = definition.block_name(number)
        last = number == len(definition.blocks) - 1
        with spark_errors(relations, name, [i.relation for i in inputs(block)]):
            folded, buckets = _fill(relations, name, block, at, options, progress)
            told_by = relations.rolled(name).told_by(folded)
            for i in inputs(block):
                relations.check_read(AsOf(0, at), i.relation)
        failpoint(Failpoint.BUILD_BEFORE_COMMIT)
        finished = definition if last else None
        _commit(relations.ledger, name, block, at, folded, buckets, told_by, finished)
        failpoint(Failpoint.BUILD_AFTER_COMMIT)


def _commit(
    ledger: Ledger,
    name: str,
    block: Block,
    at: Csn,
    folded: Folded,
    buckets: int,
    told_by: dict[str, object],
    finished: Definition | None,
) -> None:
    with ledger.atomic():
        ledger.drop_steps([step.id for step in ledger.steps(name)])
        ledger.set_block(
            name,
            frontier=(at,) * len(inputs(block)),
            oldest=at,
            folded_version=folded.version,
            fold_times=(at,) * buckets,
            rows=folded.rows,
            bytes=folded.bytes,
            told_by=told_by,
        )
        if finished is not None:
            ledger.set_view(finished.name, state="ready", reason="", view_time=at)
            for intent in ledger.intents("build"):
                if intent.subject == finished.name:
                    ledger.end(intent.id)


def _fill(
    relations: Relations,
    name: str,
    block: Block,
    at: Csn,
    options: Mapping[str, object],
    progress: Progress,
) -> tuple[Folded, int]:
    """Write the folded rows of one block; what was written, and the number of buckets."""
    table = relations.rolled(name)
    largest = max((relations.rows(i.relation) for i in inputs(block)), default=0)
    pieces = max(1, -(-largest // int(str(options.get("piece_rows", PIECE_ROWS)))))
    if isinstance(block, Fixpoint) or (isinstance(block, BagReduce) and not block.keys):
        pieces = 1  # one recursion, one bag
    expected = (
        0 if isinstance(block, Reduce) else expected_rows(largest)
    )  # the first fold will know
    buckets = number_of_buckets(expected, options.get("buckets"))
    progress(0, pieces, name)
    with SparkRecursion(relations) as recursion:
        if pieces == 1:
            failpoint(Failpoint.BUILD_BEFORE_PIECE)
            rows = _whole(relations, name, block, at, recursion)
            failpoint(Failpoint.BUILD_AFTER_PIECE)
        else:
            rows = _in_pieces(relations, table, at, pieces, progress)
        folded = table.write_folded(rows, _next_txn(table), None, buckets)
    failpoint(Failpoint.BUILD_AFTER_WRITE)
    shutil.rmtree(_staging(table, at), ignore_errors=True)
    progress(pieces, pieces, name)
    return folded, buckets


def _whole(
    relations: Relations, name: str, block: Block, at: Csn, recursion: SparkRecursion
) -> DataFrame:
    """The block's rows as of `at`, not in pieces; a recursion is settled first."""
    if not isinstance(block, Fixpoint):
        return _rows(relations, block, at, None)
    return recursion.rows(
        whole(block, built_levels(block, name, at, recursion.leaves.name, recursion))
    )


def _next_txn(table: RolledTable) -> int:
    """A transaction number above every one that this table has committed."""
    version = table.newest_folded_version()
    return 1 if version is None else version + 2


def _rows(relations: Relations, block: Block, at: Csn, piece: tuple[int, int] | None) -> DataFrame:
    """The block's rows as of `at` (of one piece): a Reduce's keys, sums and count, else plain rows.

    Where parts take rows away, a piece has counts: it may take away rows that are in another piece.
    """
    leaves = Leaves()
    sources = [
        _only_piece(relations, block, join, state_query(join, at, leaves.name), piece)
        for join in joins(block)
    ]
    tree = built(block, _only_keys(block, union_all(sources), piece))
    if piece is None and signed(block):
        tree = whole(block, tree)
    frames = {
        name: counted(relations(relation).exact(at, columns))
        for (_, relation, columns, _), name in leaves.wanted.items()
    }
    rows = bound(relations.spark, tree, frames).drop(STAMP)
    return rows if isinstance(block, Reduce) or (piece and signed(block)) else rows.drop(COUNT)


def _only_keys(block: Block, rows: exp.Query, piece: tuple[int, int] | None) -> exp.Query:
    """The source's rows of a BagReduce, restricted to one piece of its keys (U2)."""
    if piece is None or not isinstance(block, BagReduce):
        return rows
    only = _share([column(k) for k in block.keys], piece)
    return exp.select("*").from_(subquery(rows, "_rv_source")).where(only)


def _share(values: list[exp.Column], piece: tuple[int, int]) -> exp.Expr:
    """The hash of the values is in the piece."""
    number, pieces = piece
    hashed = exp.Anonymous(this="HASH", expressions=values)
    share = exp.Anonymous(this="PMOD", expressions=[hashed, exp.Literal.number(pieces)])
    return exp.EQ(this=share, expression=exp.Literal.number(number))


def _only_piece(
    relations: Relations,
    block: Block,
    join: Join,
    query: exp.Select,
    piece: tuple[int, int] | None,
) -> exp.Select:
    """The query restricted to one piece of the join's largest input (U2)."""
    if piece is None or isinstance(block, BagReduce):
        return query
    if not join.inputs:
        return query if piece[0] == 0 else query.where(exp.false())
    largest = max(join.inputs, key=lambda i: relations.rows(i.relation))
    return query.where(_share([column(c, largest.alias) for c in largest.columns], piece))


def _in_pieces(
    relations: Relations, table: RolledTable, at: Csn, pieces: int, progress: Progress
) -> DataFrame:
    """Stage the pieces that are not there yet, then read them all."""
    staging = _staging(table, at)
    for number in range(pieces):
        done = staging / f"piece-{number}-of-{pieces}"
        if not done.exists():
            failpoint(Failpoint.BUILD_BEFORE_PIECE)
            attempt = staging / f"attempt-{number}"
            _rows(relations, table.block, at, (number, pieces)).write.mode("overwrite").parquet(
                str(attempt))  # fmt: skip
            failpoint(Failpoint.BUILD_BEFORE_RENAME)
            attempt.rename(done)
            failpoint(Failpoint.BUILD_AFTER_PIECE)
        progress(number + 1, pieces + 1, table.name)
    paths = [str(staging / f"piece-{n}-of-{pieces}") for n in range(pieces)]
    rows = relations.spark.read.parquet(*paths)
    if not isinstance(table.block, Reduce) and not signed(table.block):
        return rows
    leaf = "_rv_pieces"
    some = exp.select("*").from_(exp.to_identifier(leaf, quoted=True))
    return bound(relations.spark, whole(table.block, some), {leaf: rows})


def _staging(table: RolledTable, at: Csn) -> Path:
    return table.folder(table.row()) / "build" / str(at)
