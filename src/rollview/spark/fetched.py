"""Terms of small steps joined on the driver: few rows of every input are fetched and joined there by Arrow.

P1  What is made is the core of a term (calculus/sharing.py): every combination of its factors' rows that the
    equalities allow, once, with the latest stamp and the product of the counts. Filters and columns are Spark's.
P2  The changes lead; every other input is asked only for rows with their keys, along an equality that leads to it.
P3  At most MOST_CHANGED changed rows, and MOST_ROWS combinations at any moment, are in the driver's memory. None: the
    term is beyond that, or has an input that is not fetched; Spark joins it then.
Each broadcast that Spark needs not make is a job of 0.03 s and more. Why, and what it saves: docs/decisions/022.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from rollview.calculus.probing import WHOLE_NUMBERS
from rollview.calculus.sharing import Columns, Core, carried, core_of
from rollview.calculus.terms import AsOf, Changes, Factor, Term, Timed
from rollview.changes import COUNT, STAMP, Csn
from rollview.sources.delta_lake.fetched import MOST_CHANGED
from rollview.sources.delta_lake.lookup import KINDS, Keys, having, keys_in, wide_type
from rollview.sources.delta_lake.relation import DeltaLakeTable
from rollview.sources.pairs import pairs
from rollview.sources.postgresql.live import changes
from rollview.sources.postgresql.table import MODES, table_of
from rollview.spark.fetched_rolled import rolled_changes, rolled_rows
from rollview.spark.live import LiveTable
from rollview.spark.relations import Relations
from rollview.spark.rolled import RolledTable
from rollview.views.blocks import Join, Reduce

MOST_ROWS = 100_000

Answers = Mapping[int, pa.Table]
"""Inputs whose rows are here already: what a live database answered."""


def joined(
    relations: Relations, core: Core, columns: Columns, term: Term, answers: Answers
) -> pa.Table | None:
    """The rows of a core at a term: columns by their places, stamp, count (P1); None if Spark should join them."""
    if not fetchable(relations, core, term):
        return None
    kinds = [dict(relations.columns(name)) for name in core.relations]
    start = next(f for f in term if isinstance(f, Changes))
    name = core.relations[start.input]
    found = _changed(relations, name, start.lo, start.hi, columns[start.input])
    if found is None:
        return None
    rows, known = _placed(found, start.input), {start.input}
    while len(known) < len(term):
        link = _next(core, known)
        assert link is not None, "fetchable terms have a way to each input"
        i, equal = link
        (_, column), kind = equal[0][1], kinds[i][equal[0][1][1]]
        keys = Keys(column, keys_in(rows.column(carried(*equal[0][0])), kind))
        if i in answers:
            other: pa.Table | None = having(answers[i], keys)
        else:
            other = fetched(relations, core.relations[i], term[i], columns[i], keys)
        both = _with(rows, other, link, kinds) if other is not None else None
        if both is None:
            return None
        rows, known = both, {*known, i}
    return rows


def fetchable(relations: Relations, core: Core, term: Term) -> bool:
    """Whether a term can be joined on the driver, as far as the ledger knows (P2, P3); its files decide then."""
    start = next(f for f in term if isinstance(f, Changes))
    if relations.changed_rows(core.relations[start.input], start.lo, start.hi) > MOST_CHANGED:
        return False
    if not all(_readable(relations, name) for name in core.relations):
        return False
    known = {start.input}
    while (link := _next(core, known)) is not None:
        known.add(link[0])
    kinds = [dict(relations.columns(name)) for name in core.relations]
    return len(known) == len(term) and _comparable(core, kinds)


def explained_fetches(relations: Relations, join: Join, term: Term) -> list[str]:
    """In words, how each input of a term that can be joined on the driver gets there; nothing of other terms."""
    core = core_of(join)
    if core is None or not fetchable(relations, core, term):
        return []
    (start,) = (f.input for f in term if isinstance(f, Changes))
    known, said = {start}, []
    while (link := _next(core, known)) is not None:
        i, [((source, key), (_, column)), *_] = link
        changed = "changes of " if source == start else ""
        said.append(f"{core.relations[i]} is fetched by ({column}) for the ({key}) of {changed}"
                    f"{core.relations[source]}, and joined by the driver")  # fmt: skip
        known.add(i)
    return said


Equal = tuple[tuple[int, str], tuple[int, str]]
"""A column of a known input, and the one of the next input that it is equal to."""
Link = tuple[int, list[Equal]]


def _comparable(core: Core, kinds: Sequence[Mapping[str, str]]) -> bool:
    """Whether Arrow compares all columns that must be equal as Spark does."""
    for (i, a), (j, b) in core.equalities:
        pair = {kinds[i].get(a, ""), kinds[j].get(b, "")}
        if not (pair <= KINDS and (len(pair) == 1 or pair <= WHOLE_NUMBERS)):
            return False
    return True


def _next(core: Core, known: set[int]) -> Link | None:
    """An input that an equality leads to, with all equalities between it and what is known (P2)."""
    both = [e for a, b in sorted(core.equalities) for e in ((a, b), (b, a))]
    near = [b[0] for a, b in both if a[0] in known and b[0] not in known]
    if not near:
        return None
    return near[0], [(a, b) for a, b in both if a[0] in known and b[0] == near[0]]


def _with(
    rows: pa.Table, fetched: pa.Table, link: Link, kinds: Sequence[Mapping[str, str]]
) -> pa.Table | None:
    """The rows joined with those of the next input (P1); None if there are too many (P3)."""
    i, equal = link
    types = [wide_type(kinds[i][b[1]]) for _, b in equal]
    left = [rows.column(carried(*a)).cast(t) for (a, _), t in zip(equal, types, strict=True)]
    right = [fetched.column(b[1]).cast(t) for (_, b), t in zip(equal, types, strict=True)]
    found = pairs(left, right, MOST_ROWS)
    if found is None:
        return None
    one, two = rows.take(found[0]), _placed(fetched, i).take(found[1])
    for name in two.column_names:
        if name not in (STAMP, COUNT):
            one = one.append_column(name, two.column(name))
    count = pc.multiply_checked(one.column(COUNT), two.column(COUNT))
    one = one.set_column(one.column_names.index(COUNT), COUNT, count)
    if STAMP in two.column_names:
        stamp = pc.max_element_wise(one.column(STAMP), two.column(STAMP))
        one = one.set_column(one.column_names.index(STAMP), STAMP, stamp)
    return one


def _placed(rows: pa.Table, i: int) -> pa.Table:
    return rows.rename_columns([n if n in (STAMP, COUNT) else carried(i, n) for n in rows.column_names])  # fmt: skip


def _readable(relations: Relations, name: str) -> bool:
    """Whether rows of the relation are in files, or come from a live database; those of a Reduce are made of sums."""
    row = relations.base(name)
    return row is not None or not isinstance(relations.rolled(name).block, Reduce)


def _changed(
    relations: Relations, name: str, lo: Csn, hi: Csn, columns: Sequence[str]
) -> pa.Table | None:
    """What a relation changed in (lo, hi]: the columns, stamp and count."""
    row = relations.base(name)
    if row is not None and row.properties.get("mode") in MODES:
        log = changes(relations.ledger, relations.warehouse, table_of(row), lo, hi)
        return log.select([*columns, STAMP, COUNT])
    table = relations(name)
    if isinstance(table, DeltaLakeTable):
        return table.fetched_changes(lo, hi, columns)
    assert isinstance(table, RolledTable), "what is no source is rolled"
    return rolled_changes(table, lo, hi, columns)


def fetched(
    relations: Relations, name: str, factor: Factor, columns: Sequence[str], keys: Keys
) -> pa.Table | None:
    """The rows of a factor that have one of the keys: the columns, count and, if it is timed, the stamp."""
    match factor:
        case AsOf(_, at):
            return _at(relations, name, at, columns, keys)
        case Timed(_, lo, at):
            old = _at(relations, name, lo, columns, keys)
            later = _changed(relations, name, lo, at, columns) if old is not None else None
            if old is None or later is None:
                return None
            old = stamped(old)
            return pa.concat_tables([old, having(later, keys).select(old.column_names)])
        case Changes():
            raise AssertionError("a term has the changes of one input")


def _at(
    relations: Relations, name: str, at: Csn, columns: Sequence[str], keys: Keys
) -> pa.Table | None:
    table = relations(name)
    if isinstance(table, DeltaLakeTable):
        return table.fetched(at, columns, keys)
    if isinstance(table, LiveTable) or not isinstance(table, RolledTable):
        return None
    return rolled_rows(table, at, columns, keys)


def stamped(rows: pa.Table) -> pa.Table:
    """Rows of before a step, with the stamp that says so."""
    return rows.append_column(STAMP, pa.repeat(pa.scalar(0, pa.int64()), rows.num_rows))
