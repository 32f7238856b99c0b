"""Queries as trees: the terms of a step, and everything that is read from a rolled table.

Q1  A tree names its leaves only; whoever runs it binds each leaf to rows. So one tree runs on Spark and on
    DuckDB alike, and `explain` prints what `propagate` executes.
Q2  A leaf has the columns asked for, `_rv_count`, and (changes, timed, log) `_rv_stamp`. Rows that carry no stamp
    of their own have stamp 0, so that GREATEST picks the latest stamp.
Knows blocks, terms and sqlglot; neither engines nor storage. Words: docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache, reduce

from sqlglot import exp, parse_one

from rollview.calculus.terms import AsOf, Changes, Factor, Term, Timed
from rollview.changes import COUNT, STAMP, Csn
from rollview.views import syntax
from rollview.views.blocks import BagReduce, Block, Column, Generator, Join, Reduce, Union

LeafName = Callable[[Factor, str, tuple[str, ...]], str]
"""(factor, relation, columns) -> the name under which the tree knows that leaf."""


@lru_cache(maxsize=4096)
def _parsed(text: str) -> exp.Expr:
    return _placeless(parse_one(text, dialect="spark"))


def expression(text: str) -> exp.Expr:
    """An expression of the calculus itself as a tree of its own; each engine gets it in its words."""
    return _parsed(text).copy()


@lru_cache(maxsize=4096)
def _block_parsed(text: str) -> exp.Expr:
    return _placeless(syntax.expression(text))


def _placeless(tree: exp.Expr) -> exp.Expr:
    """The tree without the places of its nodes in a text, which every copy would copy too."""
    for node in tree.walk():
        node.meta.clear()
    return tree


def block_expression(text: str) -> exp.Expr:
    """An expression of a block as a tree of its own; its function calls stay as written (X1)."""
    return _block_parsed(text).copy()


def column(name: str, table: str | None = None) -> exp.Column:
    """A quoted column."""
    return exp.column(name, table=table, quoted=True)


def named(tree: exp.Expr, name: str) -> exp.Expr:
    """`tree AS name`."""
    return exp.alias_(tree, name, quoted=True, copy=False)


def select(*columns: exp.Expr) -> exp.Select:
    """A SELECT of these very nodes, as everything here: a node is given to one tree, and copied for another."""
    return exp.select(*columns, copy=False)


@cache
def _data_type(spark_type: str) -> exp.DataType:
    return exp.DataType.build(spark_type)


def cast(tree: exp.Expr, spark_type: str) -> exp.Cast:
    """`CAST(tree AS spark_type)`."""
    return exp.Cast(this=tree, to=_data_type(spark_type).copy())


def table(name: str, alias: str) -> exp.Table:
    """A leaf (or another named relation) under an alias."""
    return exp.Table(
        this=exp.to_identifier(name, quoted=True),
        alias=exp.TableAlias(this=exp.to_identifier(alias, quoted=True)),
    )


def subquery(tree: exp.Query, alias: str) -> exp.Subquery:
    """A query in FROM."""
    return tree.subquery(exp.to_identifier(alias, quoted=True), copy=False)


def bigint(value: int) -> exp.Expr:
    """A BIGINT literal."""
    return cast(exp.Literal.number(value) if value >= 0 else expression(str(value)), "BIGINT")


def every(conditions: Iterable[exp.Expr]) -> exp.Expr:
    """The conjunction; true if there are none."""
    parts = list(conditions)
    return exp.and_(*parts, copy=False) if parts else exp.true()


def union_all(queries: Sequence[exp.Query]) -> exp.Query:
    """UNION ALL of one or more queries."""
    return reduce(lambda left, right: exp.union(left, right, distinct=False, copy=False), queries)


GROUPING = ("distinct", "group", "having", "limit", "windows")
"""What a query must not have, to be the union of itself over parts of what it reads."""


def in_parts(tree: exp.Query, name: str, parts: Sequence[str]) -> exp.Query:
    """The tree with parts for the leaf whose union they are: each query that reads it, once for each part."""
    found = next((t for t in tree.find_all(exp.Table) if t.name == name), None)
    if found is None:
        return tree
    query = found.find_ancestor(exp.Select)
    assert query is not None and not any(query.args.get(k) for k in GROUPING), "terms are products"
    versions = []
    for part in parts:
        found.set("this", exp.to_identifier(part, quoted=True))
        versions.append(query.copy())
    united = union_all(versions)
    if query is tree:
        tree = united
    else:
        query.replace(united)
    return in_parts(tree, name, parts)


def within(stamp: exp.Expr, lo: Csn, hi: Csn) -> exp.Expr:
    """The stamp lies in (lo, hi]."""
    return exp.and_(exp.GT(this=stamp.copy(), expression=bigint(lo)),
                    exp.LTE(this=stamp.copy(), expression=bigint(hi)), copy=False)  # fmt: skip


def term_query(join: Join, term: Term, leaf_name: LeafName) -> exp.Select:
    """The rows of a term: the join's columns, the latest stamp, the product of the counts (T1)."""
    stamps = [column(STAMP, join.inputs[f.input].alias) for f in term if not isinstance(f, AsOf)]
    stamp = exp.Greatest(this=stamps[0], expressions=stamps[1:]) if len(stamps) > 1 else stamps[0]
    return _product(join, term, leaf_name, stamp)


def state_query(join: Join, at: Csn, leaf_name: LeafName) -> exp.Select:
    """All rows of the join as of `at`, stamped with it: what a view starts from."""
    term = tuple(AsOf(i, at) for i in range(len(join.inputs)))
    return _product(join, term, leaf_name, bigint(at))


def _product(join: Join, term: Term, leaf_name: LeafName, stamp: exp.Expr) -> exp.Select:
    counts: list[exp.Expr] = [column(COUNT, i.alias) for i in join.inputs] or [bigint(1)]
    product = reduce(lambda a, b: exp.Mul(this=a, expression=b), counts)
    if join.sign < 0:
        product = exp.Neg(this=exp.Paren(this=product))
    query = select(
        *(named(block_expression(c.expr), c.name) for c in join.columns),
        named(stamp, STAMP),
        named(product, COUNT),
    )
    for position, factor in enumerate(_in_order(join, term)):
        i = join.inputs[factor.input]
        leaf = table(leaf_name(factor, i.relation, i.columns), i.alias)
        query = joined(query, leaf, "CROSS") if position else query.from_(leaf, copy=False)
    if not term:
        nothing = subquery(select(named(bigint(1), "_rv_one")), "_rv_nothing")
        query = query.from_(nothing, copy=False)
    for generator in join.generators:
        query.append("laterals", _lateral(generator))
    return kept_where(query, join.condition)


def joined(query: exp.Select, other: exp.Expr, kind: str, on: exp.Expr | None = None) -> exp.Select:
    """The query with another item joined: `kind` is CROSS, SEMI, ANTI or nothing."""
    join = exp.Join(this=other, kind=kind)
    join.set("on", on)
    query.append("joins", join)
    return query


def kept_where(query: exp.Select, condition: str | None) -> exp.Select:
    """The query, filtered by a condition of a block if there is one."""
    return query.where(block_expression(condition), copy=False) if condition else query


def _lateral(generator: Generator) -> exp.Lateral:
    names = [exp.to_identifier(name, quoted=True) for name in generator.columns]
    alias = exp.to_identifier(generator.alias, quoted=True)
    return exp.Lateral(
        this=block_expression(generator.call),
        view=True,
        outer=generator.outer,
        alias=exp.TableAlias(this=alias, columns=names),
    )


def _in_order(join: Join, term: Term) -> list[Factor]:
    """The few changed rows lead the join; then come inputs that an equality leads to, so that no engine need start
    with two large inputs, or cross any."""
    rank = {Changes: 0, Timed: 1, AsOf: 2}
    waiting = sorted(term, key=lambda f: rank[type(f)])
    placed, known = waiting[:1], {join.inputs[f.input].alias for f in waiting[:1]}
    waiting = waiting[1:]
    pairs = [{left.table, right.table} for left, right in equalities(join)]
    while waiting:
        near = {name for pair in pairs if pair & known for name in pair}
        next_one = next((f for f in waiting if join.inputs[f.input].alias in near), waiting[0])
        waiting.remove(next_one)
        placed.append(next_one)
        known.add(join.inputs[next_one.input].alias)
    return placed


def conjuncts(join: Join) -> Iterator[exp.Expr]:
    """The conditions of a join that must all hold."""
    waiting = [block_expression(join.condition)] if join.condition else []
    while waiting:
        match waiting.pop():
            case exp.And(this=left, expression=right):
                waiting += [right, left]
            case exp.Paren(this=inner):
                waiting.append(inner)
            case other:
                yield other


def equalities(join: Join) -> Iterator[tuple[exp.Column, exp.Column]]:
    """`column = column` among the conditions that must all hold."""
    for one in conjuncts(join):
        match one:
            case exp.EQ(this=exp.Column() as left, expression=exp.Column() as right):
                yield left, right


def summarised(block: Block, changes: exp.Query) -> exp.Query:
    """Changes of a Reduce's source as summary changes (one row per key and stamp); else as they are.

    Where parts take rows away, what the parts of one stamp cancel is left out.
    """
    if not isinstance(block, Reduce):
        plain = not isinstance(block, Union) or not block.signed
        return changes if plain else _cancelled(block.columns, changes)
    keys = [column(k) for k in block.keys]
    return (
        select(
            *keys, column(STAMP), *(named(cast(exp.Sum(this=block_expression(s.expr)), s.type), s.name)
                                    for s in block.sums),
            named(exp.Sum(this=column(COUNT)), COUNT),
        )
        .from_(subquery(changes, "_rv_source"), copy=False)
        .group_by(*(k.copy() for k in keys), column(STAMP), copy=False)
    )  # fmt: skip


def addends(block: Reduce, changes: exp.Query) -> exp.Query:
    """What `summarised` adds up: keys, stamp, and what each row adds to the sums and to the count."""
    sums = (named(cast(block_expression(s.expr), s.type), s.name) for s in block.sums)
    return select(*map(column, block.keys), column(STAMP), *sums, column(COUNT)).from_(
        subquery(changes, "_rv_source"), copy=False)  # fmt: skip


def _cancelled(columns: Sequence[Column], changes: exp.Query) -> exp.Query:
    names = [column(c.name) for c in columns]
    count = cast(exp.Sum(this=column(COUNT)), "BIGINT")
    return (
        select(*names, column(STAMP), named(count, COUNT))
        .from_(subquery(changes, "_rv_source"), copy=False)
        .group_by(*(n.copy() for n in names), column(STAMP), copy=False)
        .having(expression(f"SUM(`{COUNT}`) <> 0"), copy=False)
    )


def kept_keys(block: Block) -> tuple[Column, ...]:
    """The columns by which rows are netted: the keys of a Reduce, else all columns, also hidden ones."""
    if isinstance(block, BagReduce):
        return (*block.columns, *block.hidden)
    if not isinstance(block, Reduce):
        return block.columns
    types = {c.name: c for c in block.source.columns}
    return tuple(types[k] for k in block.keys)


def kept_sums(block: Block) -> tuple[Column, ...]:
    """What is added up per key, besides the count."""
    return block.sums if isinstance(block, Reduce) else ()
