"""Random views: SELECTs made of joins, subqueries, groups, set operations and windows, inside one another.

W1  A view has one answer: orders are total where they decide something, and no fraction is a key.
W2  A construct is generated once the product maintains it: FEATURES has a probe for each, and `features()` those that
    are accepted. All text means the same to Spark and to DuckDB.
Columns are known by a reference and a kind: "i" (whole numbers), "s" (strings), "f" (fractions, only shown).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from golden.case import Schema
from golden.play import defined

from rollview.errors import ViewRefused

TABLES: Schema = {
    "lake.t": (("a", "int"), ("b", "int"), ("s", "string")),
    "lake.u": (("a", "int"), ("c", "int"), ("s", "string")),
    "lake.w": (("a", "int"), ("d", "int")),
}
POOLS = {"int": (1, 2, 1, 0, 2, None), "string": ("x", "y", "x", "", None)}

_T, _U = "FROM lake.t AS t", "lake.u AS u"
FEATURES = {
    "left join": f"SELECT t.b, u.c {_T} LEFT JOIN {_U} ON t.a = u.a",
    "right join": f"SELECT t.b, u.c {_T} RIGHT JOIN {_U} ON t.a = u.a",
    "full join": f"SELECT t.b, u.c {_T} FULL JOIN {_U} ON t.a = u.a",
    "semi join": f"SELECT t.b {_T} LEFT SEMI JOIN {_U} ON t.a = u.a",
    "anti join": f"SELECT t.b {_T} LEFT ANTI JOIN {_U} ON t.a = u.a",
    "outer theta": f"SELECT t.b, u.c {_T} LEFT JOIN {_U} ON t.a < u.a",
    "exists": f"SELECT t.b {_T} WHERE EXISTS (SELECT 1 FROM {_U} WHERE u.a = t.a)",
    "not exists": f"SELECT t.b {_T} WHERE NOT EXISTS (SELECT 1 FROM {_U} WHERE u.a = t.a)",
    "in": f"SELECT t.b {_T} WHERE t.a IN (SELECT u.a FROM {_U})",
    "not in": f"SELECT t.b {_T} WHERE t.a NOT IN (SELECT u.a FROM {_U})",
    "in correlated": f"SELECT t.b {_T} WHERE t.a IN (SELECT u.a FROM {_U} WHERE u.s = t.s)",
    "subquery under or": f"SELECT t.b {_T} WHERE t.a = 1 OR EXISTS (SELECT 1 FROM {_U} WHERE u.a = t.a)",
    "scalar": f"SELECT t.b {_T} WHERE t.a = (SELECT COUNT(*) FROM {_U})",
    "scalar correlated": f"SELECT t.b, (SELECT COUNT(*) FROM {_U} WHERE u.a = t.a) AS n {_T}",
    "lateral": f"SELECT t.b, x.c {_T} LEFT JOIN LATERAL (SELECT u.c FROM {_U} WHERE u.a < t.a) AS x ON TRUE",
    "lateral group": f"SELECT t.b, x.c {_T}, LATERAL (SELECT MAX(u.c) AS c FROM {_U} WHERE u.a = t.a) AS x",
    "lateral first": f"SELECT t.b, x.c {_T}, LATERAL (SELECT c FROM {_U} WHERE u.a = t.a ORDER BY c LIMIT 1) AS x",
    "lateral union": f"SELECT t.b, x.c {_T}, LATERAL (SELECT t.a AS c UNION ALL SELECT t.b) AS x",
    "union": f"SELECT t.b {_T} UNION SELECT u.c FROM {_U}",
    "intersect": f"SELECT t.b {_T} INTERSECT SELECT u.c FROM {_U}",
    "intersect all": f"SELECT t.b {_T} INTERSECT ALL SELECT u.c FROM {_U}",
    "except": f"SELECT t.b {_T} EXCEPT SELECT u.c FROM {_U}",
    "except all": f"SELECT t.b {_T} EXCEPT ALL SELECT u.c FROM {_U}",
    "min max": f"SELECT t.a, MIN(t.b) AS m {_T} GROUP BY t.a",
    "count distinct": f"SELECT t.a, COUNT(DISTINCT t.b) AS m {_T} GROUP BY t.a",
    "rollup": f"SELECT t.a, t.s, COUNT(*) AS n {_T} GROUP BY ROLLUP (t.a, t.s)",
    "cube": f"SELECT t.a, t.s, COUNT(*) AS n {_T} GROUP BY CUBE (t.a, t.s)",
    "values": f"SELECT t.b, v.x {_T} JOIN (VALUES (1, 'x'), (2, NULL)) AS v(x, y) ON v.x = t.a",
    "rank": f"SELECT t.b, RANK() OVER (PARTITION BY t.a ORDER BY t.b) AS r {_T}",
    "window sum": f"SELECT t.b, SUM(t.b) OVER (PARTITION BY t.a) AS r {_T}",
    "row number": f"SELECT t.b, ROW_NUMBER() OVER (PARTITION BY t.a ORDER BY t.b, t.s) AS r {_T}",
    "running sum": f"SELECT t.b, SUM(t.b) OVER (PARTITION BY t.a ORDER BY t.b, t.s ROWS BETWEEN UNBOUNDED PRECEDING "
    f"AND CURRENT ROW) AS r {_T}",
    "lag": f"SELECT t.b, LAG(t.b) OVER (PARTITION BY t.a ORDER BY t.b, t.s) AS r {_T}",
    "recursive": "WITH RECURSIVE r(x, y) AS (SELECT a, d FROM lake.w UNION SELECT r.x, w.d FROM r JOIN lake.w AS w "
    "ON r.y = w.a) SELECT x, y FROM r",
    "top n": f"SELECT t.a, t.b, t.s {_T} ORDER BY t.a, t.b, t.s LIMIT 2",
}  # fmt: skip


def accepted() -> frozenset[str]:
    """The features that the product maintains."""

    def works(sql: str) -> bool:
        try:
            return bool(defined(TABLES, [("v", sql)]))
        except ViewRefused:
            return False

    return frozenset(name for name, sql in FEATURES.items() if works(sql))


@dataclass(frozen=True)
class Ref:
    """A column that can be written."""

    text: str
    kind: str


@dataclass(frozen=True)
class Query:
    """A SELECT and the columns that it gives."""

    sql: str
    columns: tuple[Ref, ...]


class Generator:
    """Writes one view."""

    def __init__(self, pick: Random, features: frozenset[str]) -> None:
        self.pick, self.features = pick, features
        self.aliases = 0

    def view(self) -> str:
        """The SQL of a view."""
        return self.query(self.pick.choice([1, 1, 2, 2, 3, 3, 4])).sql

    def chance(self, share: float, *features: str) -> bool:
        """True in a share of the cases, where all these features are there."""
        return self.pick.random() < share and set(features) <= self.features

    def one_of(self, *choices: str) -> str:
        """One of the choices that are features, or that need none."""
        return self.pick.choice([c for c in choices if c in self.features or c not in FEATURES])

    def alias(self) -> str:
        self.aliases += 1
        return f"q{self.aliases}"

    # --- queries

    def query(self, size: int, kinds: Sequence[str] | None = None) -> Query:
        """A query of about so many operators; with given kinds of columns where asked."""
        if size > 1 and self.pick.random() < 0.25:
            return self.set_operation(size, kinds)
        if size > 1 and kinds is None and self.pick.random() < 0.1:
            return self.twice(size)
        return self.select(size, kinds)

    def set_operation(self, size: int, kinds: Sequence[str] | None) -> Query:
        verb = self.one_of(
            "union all", "union", "intersect", "intersect all", "except", "except all"
        )
        left = self.query(size // 2, kinds or self.some_kinds())
        right = self.query(size - size // 2 - 1, [c.kind for c in left.columns])
        return Query(f"({left.sql}) {verb.upper()} ({right.sql})", left.columns)

    def some_kinds(self) -> list[str]:
        return [self.pick.choice("iis") for _ in range(self.pick.randint(1, 3))]

    def twice(self, size: int) -> Query:
        """A WITH query that is read twice."""
        inner = self.query(size - 1, self.some_kinds())
        name, one, two = (self.alias() for _ in range(3))
        refs = [self.under(a, c) for a in (one, two) for c in inner.columns]
        on = self.equality(refs[: len(inner.columns)], refs[len(inner.columns) :])
        shown, columns = self.shown(refs)
        sql = f"WITH {name} AS ({inner.sql}) SELECT {shown} FROM {name} AS {one} JOIN {name} AS {two} ON {on}"
        return Query(sql, columns)

    def select(self, size: int, kinds: Sequence[str] | None) -> Query:
        source, refs = self.source_list(size)
        where = f" WHERE {self.condition(refs, size)}" if self.pick.random() < 0.35 else ""
        body = f"FROM {source}{where}"
        if kinds is None and self.pick.random() < 0.15:
            return (
                self.top_n(body, refs) if "top n" in self.features else self.plain(body, refs, None)
            )
        match self.pick.choice(["plain", "plain", "group", "group", "distinct", "window"]):
            case "group":
                return self.group(body, refs, kinds)
            case "window":
                return self.window(body, refs, kinds)
            case "distinct":
                return self.plain(body, refs, kinds, "DISTINCT ")
        return self.plain(body, refs, kinds)

    # --- FROM

    def source_list(self, size: int) -> tuple[str, list[Ref]]:
        """Tables and subqueries, joined."""
        text, refs = self.source(size - 1)
        for _ in range(self.pick.choice([0, 0, 1, 1, 2]) if size > 0 else 0):
            if self.chance(0.15, "lateral"):
                joined, more = self.lateral(refs)
                text, refs = f"{text} {joined}", refs + more
                continue
            other, more = self.source(size // 2 - 1)
            kind = self.one_of("join", "join", "left join", "left join", "right join", "full join", "semi join",
                               "anti join", "cross join")  # fmt: skip
            word = {"semi join": "LEFT SEMI JOIN", "anti join": "LEFT ANTI JOIN"}.get(
                kind, kind.upper()
            )
            on = "" if kind == "cross join" else f" ON {self.join_condition(kind, refs, more)}"
            text = f"{text} {word} {other}{on}"
            refs = refs if kind in ("semi join", "anti join") else refs + more
        return text, refs

    def lateral(self, around: Sequence[Ref]) -> tuple[str, list[Ref]]:
        """A join with what a query finds in a table for each row before it."""
        own, alias = self.alias(), self.alias()
        table = self.pick.choice(list(TABLES))
        refs = [Ref(f"{own}.{n}", "s" if k == "string" else "i") for n, k in TABLES[table]]
        body = f"FROM {table} AS {own} WHERE {self.equality(refs, around)}"
        verb = self.one_of("rows", "rows", "lateral group", "lateral first", "lateral union")
        if verb != "lateral first" and self.chance(0.3):
            body = f"FROM {table} AS {own} WHERE {self.comparison(refs, around)}"
        match verb:
            case "lateral group":
                query = self.group(body, refs, None)
                query = Query(
                    re.sub(r" GROUP BY (ROLLUP|CUBE) \((.*?)\)", r" GROUP BY \2", query.sql),
                    query.columns,
                )
            case "lateral first" if " = " in body and "1 = 1" not in body:
                query = self.top_n(body.replace("<=>", "="), refs)
            case "lateral union":
                shown, columns = self.shown([*refs, *around], ["i", "s"])
                other, _ = self.shown(around, ["i", "s"])
                query = Query(f"SELECT {shown} {body} UNION ALL SELECT {other}", columns)
            case _:
                query = self.plain(
                    body, [*refs, *around], None, self.pick.choice(["", "DISTINCT "])
                )
        more = [self.under(alias, c) for c in query.columns]
        word, on = self.pick.choice(
            [("CROSS JOIN", ""), ("LEFT JOIN", "TRUE"), ("LEFT JOIN", ""), ("JOIN", "")]
        )
        on = on or self.simple([*around, *more])
        end = "" if word == "CROSS JOIN" else f" ON {on}"
        return f"{word} LATERAL ({query.sql}) AS {alias}{end}", more

    def source(self, size: int) -> tuple[str, list[Ref]]:
        alias = self.alias()
        if size > 0 and self.pick.random() < 0.7:
            inner = self.query(size)
            return f"({inner.sql}) AS {alias}", [self.under(alias, c) for c in inner.columns]
        if self.chance(0.04, "recursive"):
            return f"({self.recursive(size)}) AS {alias}", [
                Ref(f"{alias}.x", "i"),
                Ref(f"{alias}.y", "i"),
            ]
        if self.chance(0.05, "values"):
            rows = "VALUES (1, 'x'), (2, NULL), (1, 'y')"
            return f"({rows}) AS {alias}(x, y)", [Ref(f"{alias}.x", "i"), Ref(f"{alias}.y", "s")]
        table = self.pick.choice(list(TABLES))
        columns = [Ref(f"{alias}.{n}", "s" if k == "string" else "i") for n, k in TABLES[table]]
        return f"{table} AS {alias}", columns

    def recursive(self, size: int) -> str:
        """A recursive WITH query of two whole numbers; by UNION, or by UNION ALL down to some level."""
        name, step = self.alias(), self.alias()
        inner = self.query(size, ["i", "i"])
        one, two = (f"CAST({c.text} AS INT)" for c in inner.columns)
        table = self.pick.choice(list(TABLES))
        refs = [Ref(f"{step}.{n}", "i") for n, k in TABLES[table] if k == "int"]
        own = [Ref(f"{name}.x", "i"), Ref(f"{name}.y", "i")]
        shown = f"{self.pick.choice([*own, *refs]).text}, {self.pick.choice(refs).text}"
        kind = self.one_of("join", "join", "left join").upper()
        where = (
            self.condition([*own, *refs] if kind == "JOIN" else own, 1)
            if self.chance(0.3)
            else "1 = 1"
        )
        read = f"FROM {name} {kind} {table} AS {step} ON {self.equality(own, refs)} WHERE {where}"
        start = f"SELECT {one}, {two}{{}} FROM ({inner.sql}) AS {self.alias()}"
        if self.chance(0.7):
            query = f"{name}(x, y) AS ({start.format('')} UNION SELECT {shown} {read})"
        else:
            more = f"SELECT {shown}, {name}.n + 1 {read} AND {name}.n < {self.pick.randint(1, 3)}"
            query = f"{name}(x, y, n) AS ({start.format(', 1')} UNION ALL {more})"
        return f"WITH RECURSIVE {query} SELECT x, y FROM {name}"

    @staticmethod
    def under(alias: str, column: Ref) -> Ref:
        return Ref(f"{alias}.{column.text}", column.kind)

    def join_condition(self, kind: str, left: Sequence[Ref], right: Sequence[Ref]) -> str:
        on = self.equality(left, right)
        if (
            self.chance(0.2)
            and (kind == "join" or "outer theta" in self.features)
            and kind != "full join"
        ):
            on = self.comparison(left, right)
        return f"{on} AND {self.simple([*left, *right])}" if self.chance(0.2) else on

    def equality(self, left: Sequence[Ref], right: Sequence[Ref]) -> str:
        """One or two equalities between two sides, or a comparison with a constant where no kinds agree."""
        pairs = [(x, y) for x in left for y in right if x.kind == y.kind and x.kind != "f"]
        if not pairs:
            return "1 = 1"
        some = self.pick.sample(pairs, min(len(pairs), self.pick.choice([1, 1, 1, 2])))
        sign = self.pick.choice(["=", "=", "=", "<=>"])
        return " AND ".join(f"{x.text} {sign} {y.text}" for x, y in some)

    def comparison(self, left: Sequence[Ref], right: Sequence[Ref]) -> str:
        pairs = [(x, y) for x in left for y in right if x.kind == y.kind == "i"]
        if not pairs:
            return "1 = 1"
        x, y = self.pick.choice(pairs)
        return f"{x.text} {self.pick.choice(['<', '<=', '<>', '>'])} {y.text}"

    # --- WHERE

    def condition(self, refs: Sequence[Ref], size: int) -> str:
        first = self.subquery_condition(refs) if size > 0 and self.chance(0.5) else None
        if first is None:
            return self.simple(refs)
        if self.chance(0.2, "subquery under or"):
            return f"({self.simple(refs)} OR {first})"
        return f"{first} AND {self.simple(refs)}" if self.chance(0.3) else first

    def simple(self, refs: Sequence[Ref]) -> str:
        ref = self.pick.choice(refs)
        if self.chance(0.15):
            return f"({self.simple(refs)} OR {self.simple(refs)})"
        if self.chance(0.1):
            return f"NOT ({self.simple(refs)})"
        if ref.kind == "f" or self.chance(0.2):
            return f"{ref.text} IS {self.pick.choice(['', 'NOT '])}NULL"
        if ref.kind == "s":
            return (
                f"{ref.text} {self.pick.choice(['=', '<>'])} '{self.pick.choice(['x', 'y', ''])}'"
            )
        return (
            f"{ref.text} {self.pick.choice(['=', '<=', '>=', '<>', '>'])} {self.pick.randint(0, 2)}"
        )

    def subquery_condition(self, refs: Sequence[Ref]) -> str | None:
        verb = self.one_of("exists", "not exists", "in", "not in", "scalar", "none")
        alias, (table, columns) = self.alias(), self.pick.choice(list(TABLES.items()))
        inner = [Ref(f"{alias}.{n}", "s" if k == "string" else "i") for n, k in columns]
        outer = self.pick.choice(refs)
        alike = [r for r in inner if r.kind == outer.kind]
        if verb == "none" or not alike:
            return None
        mine = self.pick.choice(alike)
        source = f"FROM {table} AS {alias}"
        where = f" WHERE {self.simple(inner)}" if self.chance(0.4) else ""
        match verb:
            case "exists" | "not exists":
                more = f" AND {self.simple(inner)}" if self.chance(0.3) else ""
                return f"{verb.upper()} (SELECT 1 {source} WHERE {mine.text} = {outer.text}{more})"
            case "in" | "not in":
                pairs = [(x, y) for x in inner for y in refs if x.kind == y.kind]
                if self.chance(0.3, "in correlated"):
                    x, y = self.pick.choice(pairs)
                    where = f" WHERE {x.text} = {y.text}"
                return f"{outer.text} {verb.upper()} (SELECT {mine.text} {source}{where})"
        number = next((r for r in refs if r.kind == "i"), None)
        return f"{number.text} >= (SELECT COUNT(*) {source}{where})" if number else None

    # --- SELECT

    def shown(
        self, refs: Sequence[Ref], kinds: Sequence[str] | None = None
    ) -> tuple[str, tuple[Ref, ...]]:
        """Some columns under new names."""
        wanted = kinds or [self.pick.choice(refs).kind for _ in range(self.pick.randint(1, 3))]
        items = [(self.value(refs, kind), kind) for kind in wanted]
        return self.named(items)

    @staticmethod
    def named(items: Sequence[tuple[str, str]]) -> tuple[str, tuple[Ref, ...]]:
        text = ", ".join(f"{value} AS c{n}" for n, (value, _) in enumerate(items))
        return text, tuple(Ref(f"c{n}", kind) for n, (_, kind) in enumerate(items))

    def value(self, refs: Sequence[Ref], kind: str) -> str:
        """An expression of a kind."""
        some = [r.text for r in refs if r.kind == kind]
        if not some:
            return {"i": str(self.pick.randint(0, 2)), "s": "'x'", "f": "CAST(0.5 AS DOUBLE)"}[kind]
        text = self.pick.choice(some)
        if kind == "i" and self.chance(0.2):
            return self.pick.choice(
                [f"{text} + 1", f"COALESCE({text}, -1)", f"{text} - {self.pick.choice(some)}"]
            )
        if kind == "s" and self.chance(0.1):
            return f"COALESCE({text}, 'z')"
        return text

    def plain(
        self, body: str, refs: Sequence[Ref], kinds: Sequence[str] | None, distinct: str = ""
    ) -> Query:
        keyed = [r for r in refs if r.kind != "f"] or [Ref("1", "i")]
        shown, columns = self.shown(keyed if distinct else refs, kinds)
        if not distinct and kinds is None and self.chance(0.15, "scalar correlated"):
            number = next((r for r in refs if r.kind == "i"), None)
            if number:
                alias = self.alias()
                what = self.one_of("COUNT(*)", f"SUM({alias}.b)")
                inner = f"(SELECT {what} FROM lake.t AS {alias} WHERE {alias}.a = {number.text})"
                shown, columns = f"{shown}, {inner} AS c9", (*columns, Ref("c9", "i"))
        return Query(f"SELECT {distinct}{shown} {body}", columns)

    def group(self, body: str, refs: Sequence[Ref], kinds: Sequence[str] | None) -> Query:
        keyed = [r for r in refs if r.kind != "f"]
        numbers = [r.text for r in refs if r.kind == "i"]
        keys = self.pick.sample(keyed, min(len(keyed), self.pick.choice([0, 1, 1, 1, 2])))
        items = []
        for kind in kinds or [k.kind for k in keys] + self.pick.choice(
            [["i"], ["i", "i"], ["i", "f"]]
        ):
            mine = [k.text for k in keys if k.kind == kind]
            as_key = bool(mine) and (kind == "s" or self.chance(0.4))
            items.append(
                (self.pick.choice(mine) if as_key else self.aggregate(numbers, refs, kind), kind)
            )
        shown, columns = self.named(items)
        names = ", ".join(k.text for k in keys)
        by = f" GROUP BY {names}" if keys else ""
        if len(keys) == 2 and self.chance(0.3, "rollup", "cube"):
            by = f" GROUP BY {self.pick.choice(['ROLLUP', 'CUBE'])} ({names})"
        having = (
            f" HAVING COUNT(*) {self.pick.choice(['>', '=', '>='])} 1" if self.chance(0.2) else ""
        )
        return Query(f"SELECT {shown} {body}{by}{having}", columns)

    def aggregate(self, numbers: Sequence[str], refs: Sequence[Ref], kind: str) -> str:
        strings = [r.text for r in refs if r.kind == "s"]
        if kind == "s":
            return (
                f"MAX({self.pick.choice(strings)})"
                if strings and "min max" in self.features
                else "'x'"
            )
        if not numbers:
            return "COUNT(*)" if kind == "i" else "CAST(COUNT(*) AS DOUBLE)"
        number = self.pick.choice(numbers)
        if kind == "f":
            return f"AVG({number})"
        calls = {"COUNT(*)": "", f"COUNT({number})": "", f"SUM({number})": "", f"MIN({number})": "min max",
                 f"MAX({number})": "min max", f"COUNT(DISTINCT {number})": "count distinct",
                 f"SUM(CASE WHEN {number} > 0 THEN 1 ELSE 0 END)": ""}  # fmt: skip
        return self.pick.choice([c for c, f in calls.items() if not f or f in self.features])

    def window(self, body: str, refs: Sequence[Ref], kinds: Sequence[str] | None) -> Query:
        verb = self.one_of("rank", "window sum", "row number", "running sum", "lag", "none")
        keyed = [r.text for r in refs if r.kind != "f"]
        numbers = [r.text for r in refs if r.kind == "i"]
        if verb == "none" or kinds is not None or not numbers or len(keyed) < len(refs):
            return self.plain(body, refs, kinds)
        by = f"PARTITION BY {self.pick.choice(keyed)} " if self.chance(0.9) else ""
        total = ", ".join(self.pick.sample(keyed, len(keyed)))
        number = self.pick.choice(numbers)
        call = {
            "rank": f"{self.pick.choice(['RANK', 'DENSE_RANK'])}() OVER ({by}ORDER BY {number})",
            "window sum": f"{self.pick.choice(['SUM', 'COUNT'])}({number}) OVER ({by.strip()})",
            "row number": f"ROW_NUMBER() OVER ({by}ORDER BY {total})",
            "running sum": f"SUM({number}) OVER ({by}ORDER BY {total} "
            "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)",
            "lag": f"LAG({number}) OVER ({by}ORDER BY {total})",
        }[verb]
        shown, columns = self.shown(refs)
        return Query(f"SELECT {shown}, {call} AS c9 {body}", (*columns, Ref("c9", "i")))

    def top_n(self, body: str, refs: Sequence[Ref]) -> Query:
        keyed = [r for r in refs if r.kind != "f"]
        if not keyed:
            return self.plain(body, refs, None)
        shown, columns = self.shown(keyed)
        order = ", ".join(c.text + self.pick.choice(["", " DESC"]) for c in columns)
        offset = " OFFSET 1" if self.chance(0.3) else ""
        return Query(
            f"SELECT {shown} {body} ORDER BY {order} LIMIT {self.pick.randint(1, 3)}{offset}",
            columns,
        )
