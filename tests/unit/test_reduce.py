"""S3 and B3: hand-made Reduce blocks, alone and with blocks on blocks, rolled through random histories.

Each view is a list of blocks and, beside it, the SQL that it stands for, written by hand. At any time that the view can
show, its rows are those of the SQL run on the recorded states; its visible changes are a timed delta between them.
"""

from __future__ import annotations

import pytest
from duck_engine import Warehouse
from hypothesis import given
from hypothesis import strategies as st
from recorded import Recorded, caught, check_timed_delta, examples, recomputed, transactions
from sqlglot import exp

from rollview.calculus import rolled, rolling, steps
from rollview.calculus.queries import expression
from rollview.calculus.terms import AsOf, Timed
from rollview.views.blocks import Column, Input, Join, Reduce, Union, inputs, joins

NAMES = ("a", "b")


def columns(**exprs: str) -> tuple[Column, ...]:
    """BIGINT columns; a type may follow the expression after `::`."""
    parts = {name: expr.partition("::") for name, expr in exprs.items()}
    return tuple(Column(name, e.strip(), kind or "BIGINT") for name, (e, _, kind) in parts.items())


def only(relation: str, condition: str | None = None, **exprs: str) -> Join:
    """A filter and projection of one relation, known as `t`."""
    exprs = exprs or {"l": "`t`.`l`", "r": "`t`.`r`"}
    read = tuple(
        c for c in ("l", "r", "n", "total") if any(f"`t`.`{c}`" in e for e in exprs.values())
    )
    return Join((Input("t", relation, read),), condition, columns(**exprs))


def reads(alias: str, relation: str, *names: str) -> Input:
    return Input(alias, relation, names)


TOTAL = {
    "total": "COALESCE(`r`, 0) * `_rv_count`",
    "known": "CASE WHEN `r` IS NULL THEN 0 ELSE `_rv_count` END",
}
SUM = "CASE WHEN `known` > 0 THEN `total` END"

BY_KEY = Reduce(
    Union((only("a"),)),
    ("l",),
    columns(**TOTAL),
    columns(l="`l`", n="`_rv_count`", total=SUM),
)
NO_KEY = Reduce(Union((only("a"),)), (), columns(**TOTAL), columns(n="`_rv_count`", total=SUM))
DISTINCT = Reduce(Union((only("a"),)), ("l", "r"), (), columns(l="`l`", r="`r`"))

KEY, SEEN = "the `key`", 'it\'s "total"'
AWKWARD = Reduce(
    Union((Join((reads("t", "a", "l", "r"),), None,
                (Column(KEY, "`t`.`l`", "BIGINT"), Column("r", "`t`.`r`", "BIGINT"))),)),
    (KEY,), columns(**TOTAL), (Column(KEY, "`the ``key```", "BIGINT"), Column(SEEN, SUM, "BIGINT")),
)  # fmt: skip

VIEWS = {
    "awkward names": ([AWKWARD], "SELECT l, SUM(r)::BIGINT FROM a GROUP BY l"),
    "count of nothing but rows": (
        [Reduce(Union((Join((Input("t", "a", ()),), None, ()),)), (), (), columns(n="`_rv_count`"))],
        "SELECT COUNT(*) FROM a",
    ),
    "join over a union of joins": (
        [Union((Join((reads("x", "a", "l", "r"), reads("y", "b", "l", "r")), "`x`.`r` = `y`.`l`",
                     columns(l="`x`.`l`", r="`y`.`r`")), only("b"))),
         Union((Join((reads("g", "v0", "l", "r"), reads("z", "a", "l"), reads("h", "v0", "r")),
                     "`g`.`l` = `z`.`l` AND `h`.`r` = `z`.`l`",
                     columns(l="`g`.`l`", r="`g`.`r`", s="`h`.`r`")),))],
        "SELECT g.l, g.r, h.r FROM"
        " (SELECT a.l, b.r FROM a JOIN b ON a.r = b.l UNION ALL SELECT l, r FROM b) g,"
        " a, (SELECT a.l, b.r FROM a JOIN b ON a.r = b.l UNION ALL SELECT l, r FROM b) h"
        " WHERE g.l = a.l AND h.r = a.l",
    ),
    "count and sum": ([BY_KEY], "SELECT l, COUNT(*), SUM(r)::BIGINT FROM a GROUP BY l"),
    "distinct": ([DISTINCT], "SELECT DISTINCT l, r FROM a"),
    "global": ([NO_KEY], "SELECT COUNT(*), SUM(r)::BIGINT FROM a"),
    "global with having": (
        [Reduce(NO_KEY.source, (), NO_KEY.sums, NO_KEY.columns, "`_rv_count` > 1")],
        "SELECT COUNT(*), SUM(r)::BIGINT FROM a HAVING COUNT(*) > 1",
    ),
    "having": (
        [Reduce(BY_KEY.source, ("l",), BY_KEY.sums, columns(n="`_rv_count`"), f"{SUM} > 0")],
        "SELECT COUNT(*) FROM a GROUP BY l HAVING SUM(r) > 0",
    ),
    "average": (
        [Reduce(BY_KEY.source, ("l",),
                columns(total="CAST(COALESCE(`r`, 0) AS DECIMAL(12, 2)) * `_rv_count` :: DECIMAL(22, 2)",
                        known=TOTAL["known"]),
                columns(l="`l`", mean="CASE WHEN `known` > 0 THEN CAST(`total` / `known` AS DOUBLE) END"
                        " :: DOUBLE", known="`known`"))],
        "SELECT l, AVG(r), COUNT(r) FROM a GROUP BY l",
    ),
    "reduce over a join": (
        [Reduce(
            Union((Join((reads("x", "a", "l", "r"), reads("y", "b", "l", "r")), "`x`.`r` = `y`.`l`",
                        columns(l="`x`.`l`", r="`y`.`r`")),)),
            ("l",), columns(**TOTAL), BY_KEY.columns)],
        "SELECT a.l, COUNT(*), SUM(b.r)::BIGINT FROM a JOIN b ON a.r = b.l GROUP BY a.l",
    ),
    "reduce over a union": (
        [Reduce(Union((only("a"), only("b", "`t`.`l` >= 1", l="`t`.`r`", r="`t`.`l`"))), ("l",),
                columns(**TOTAL), BY_KEY.columns)],
        "SELECT l, COUNT(*), SUM(r)::BIGINT FROM"
        " (SELECT l, r FROM a UNION ALL SELECT r, l FROM b WHERE l >= 1) GROUP BY l",
    ),
    "join over a reduce": (
        [BY_KEY, Union((Join(
            (reads("g", "v0", "l", "n", "total"), reads("y", "b", "l", "r")), "`g`.`l` <=> `y`.`l`",
            columns(l="`g`.`l`", n="`g`.`n`", total="`g`.`total`", r="`y`.`r`")),))],
        "SELECT g.l, n, total, b.r FROM (SELECT l, COUNT(*) n, SUM(r)::BIGINT total FROM a GROUP BY l) g"
        " JOIN b ON g.l IS NOT DISTINCT FROM b.l",
    ),
    "self join of a reduce": (
        [BY_KEY, Union((Join(
            (reads("g", "v0", "l", "n"), reads("h", "v0", "n", "total")), "`g`.`n` = `h`.`n`",
            columns(l="`g`.`l`", total="`h`.`total`")),))],
        "SELECT g.l, h.total FROM (SELECT l, COUNT(*) n FROM a GROUP BY l) g"
        " JOIN (SELECT COUNT(*) n, SUM(r)::BIGINT total FROM a GROUP BY l) h ON g.n = h.n",
    ),
    "scalar beside every row": (
        [NO_KEY, Union((Join((reads("g", "v0", "n", "total"), reads("y", "b", "l")), None,
                             columns(l="`y`.`l`", n="`g`.`n`", total="`g`.`total`")),))],
        "SELECT b.l, n, total FROM b CROSS JOIN (SELECT COUNT(*) n, SUM(r)::BIGINT total FROM a)",
    ),
    "reduce over a reduce": (
        [BY_KEY, Reduce(Union((only("v0", l="`t`.`n`", r="`t`.`total`"),)), ("l",), columns(**TOTAL),
                        BY_KEY.columns)],
        "SELECT n, COUNT(*), SUM(total)::BIGINT FROM"
        " (SELECT COUNT(*) n, SUM(r) total FROM a GROUP BY l) GROUP BY n",
    ),
    "distinct of a view on a view": (
        [BY_KEY,
         Union((Join((reads("g", "v0", "l", "total"), reads("y", "b", "l", "r")), "`g`.`l` = `y`.`l`",
                     columns(l="`g`.`total`", r="`y`.`r`")), only("b"))),
         Reduce(Union((only("v1"),)), ("l", "r"), (), columns(l="`l`", r="`r`"))],
        "SELECT total, b.r FROM (SELECT l, SUM(r)::BIGINT total FROM a GROUP BY l) g JOIN b ON g.l = b.l"
        " UNION SELECT l, r FROM b",
    ),
}  # fmt: skip

PART = st.integers(0, 10)
STEP = st.tuples(
    st.just("step"),
    st.integers(0, 5),  # block
    st.lists(st.tuples(st.integers(0, 7), st.integers(1, 4)), min_size=1, max_size=3),
)
FOLD = st.tuples(st.just("fold"), st.integers(0, 5), st.sampled_from([None, 0, 1]), PART)
LOOK = st.tuples(st.just("look"), PART, PART)
COMMIT = st.tuples(st.just("commit"), transactions(len(NAMES)))
HISTORIES = st.tuples(
    st.lists(transactions(len(NAMES)), max_size=3),
    st.lists(st.one_of(COMMIT, STEP, STEP, FOLD, LOOK), min_size=5, max_size=14),
    st.integers(1, 2),  # buckets
    st.booleans(),  # every step is said to take rows away
)


class Story:
    """One view and its oracle, side by side."""

    def __init__(self, warehouse, blocks, sql, names=None):
        self.warehouse, self.blocks, self.sql = warehouse, blocks, sql
        self.recorded, self.cache = Recorded(NAMES), {}
        self.names = names or [f"v{k}" for k in range(len(self.blocks))]
        for name in NAMES:
            warehouse.add_source(name, {"l": "BIGINT", "r": "BIGINT"})

    def view(self, time):
        """What the SQL gives at a time."""
        if time not in self.cache:
            self.cache[time] = recomputed(self.sql, self.recorded.states[time])
        return self.cache[time]

    def commit(self, transaction):
        self.warehouse.commit(self.recorded.commit(transaction))

    def build(self, buckets, cautious):
        for name, block in zip(self.names, self.blocks, strict=True):
            self.warehouse.build(name, block, self.recorded.now, buckets, cautious)
        self.face = self.warehouse.rolled(self.names[-1])

    def step(self, block, advances):
        name = self.names[block % len(self.names)]
        table = self.warehouse.rolled(name)
        read = [i for join in joins(table.block) for i in join.inputs]
        at, wanted = list(table.frontier), []
        for k, width in advances if at else ():
            k %= len(at)
            at[k] = min(at[k] + width, self.warehouse.relations[read[k].relation].mark)
            wanted.append((k, at[k]))
        self.warehouse.step(name, wanted)

    def fold(self, block, bucket, part):
        table = self.warehouse.rolled(self.names[block % len(self.names)])
        mark = min(table.mark, self.recorded.now)
        to = table.oldest + part * (mark - table.oldest) // 10
        table.fold(to, None if bucket is None else bucket % len(table.fold_times))

    def look(self, part, width):
        """Both ways of reading: the rows at a time, and the changes since."""
        lo = self.face.oldest + part * (self.face.mark - self.face.oldest) // 10
        hi = lo + width * (self.face.mark - lo) // 10
        assert self.warehouse.visible(self.face.name, lo) == self.view(lo), lo
        changes = [
            (c.stamp, c.count, c.row) for c in self.warehouse.changes(self.face.name, lo, hi)
        ]
        assert all(stamp <= hi for stamp, _, _ in changes), (lo, hi)
        check_timed_delta(self.view, changes, lo, hi)


def check_history(view, history):
    check_story(history, *VIEWS[view])


def check_story(history, *view):
    """A view (blocks, SQL, names of the blocks) through a history."""
    earlier, turns, buckets, cautious = history
    with Warehouse() as warehouse:
        story = Story(warehouse, *view)
        for transaction in earlier:
            story.commit(transaction)
        story.build(buckets, cautious)
        verbs = {
            "commit": story.commit, "step": story.step, "fold": story.fold, "look": story.look
        }  # fmt: skip
        for verb, *details in turns:
            verbs[verb](*details)
        for block in range(len(story.blocks)):
            story.step(block, [(k, 99) for k in range(len(inputs(story.blocks[block])))])
        assert story.face.mark == story.recorded.now
        for time in range(story.face.oldest, story.face.mark + 1):
            assert warehouse.visible(story.face.name, time) == story.view(time), time
        story.look(0, 10)


@pytest.mark.parametrize("view", VIEWS)
def test_s3_a_view_with_reduces_equals_its_sql_at_every_time(view):
    @examples(4)
    @given(HISTORIES)
    def check(history):
        check_history(view, history)

    check()


# --- sabotage: each of these must be seen


def any_history(view):
    return caught(lambda history: check_history(view, history), HISTORIES)


@pytest.mark.parametrize("view", ["having", "global", "self join of a reduce"])
def test_sabotage_what_was_shown_before_is_not_taken_back(view, sabotage):
    right = rolled._side

    def only_after(block, running, lo, side):
        query = right(block, running, lo, side)
        return query.where(exp.false()) if side == "_rv_before" else query

    sabotage.setattr(rolled, "_side", only_after)
    assert any_history(view)


@pytest.mark.parametrize("view", ["reduce over a join", "join over a reduce"])
def test_sabotage_a_timed_factor_is_read_as_of_its_frontier(view, sabotage):
    right = rolling.forward_term

    def without_stamps(*step):
        return tuple(AsOf(f.input, f.at) if isinstance(f, Timed) else f for f in right(*step))

    sabotage.setattr(rolling, "forward_term", without_stamps)
    assert any_history(view)


def test_sabotage_a_reduce_without_keys_shows_nothing_over_nothing(sabotage):
    right = rolled._at_least_one

    def perhaps_none(block, rows):
        return right(block, rows).having(rolled._counted(">"))

    sabotage.setattr(rolled, "_at_least_one", perhaps_none)
    assert any_history("global")


def test_sabotage_an_emptied_group_stays(sabotage):
    sabotage.setattr(rolled, "_counted", lambda sign: expression("TRUE"))
    assert any_history("count and sum")


def test_sabotage_sums_without_their_counts(sabotage):
    """A change of two copies, or of minus one, counts as one."""
    right = steps.summarised

    def uncounted(block, changes):
        tree = right(block, changes)
        for total in tree.find_all(exp.Sum):
            if isinstance(total.this, exp.Mul):
                total.set("this", total.this.this)
        return tree

    sabotage.setattr(steps, "summarised", uncounted)
    assert any_history("global")
