"""What the benchmarks must show, and whether the saved results show it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

Cell = dict[str, Any]
Results = dict[str, list[Cell]]
TIE = 1.15
"""Two medians of the same work differ by this much; "no more than" allows for it."""


@dataclass(frozen=True, slots=True)
class Target:
    """A number that must be at least or at most `wanted`; None if it was not measured."""

    what: str
    at_least: bool
    wanted: float
    value: float | None

    @property
    def met(self) -> str:
        """yes, no, or not measured."""
        if self.value is None:
            return "not measured"
        good = self.value >= self.wanted if self.at_least else self.value <= self.wanted
        return "yes" if good else "**no**"


def targets(found: Results) -> list[Target]:
    """All targets with their values."""
    return [
        *_star(found["star"]),
        *_growth(found["star"]),
        *_readers(found["star"]),
        *_others(found),
        *_postgresql(found["postgresql"]),
    ]


def cell(cells: Iterable[Cell], **named: Any) -> Cell | None:
    """The cell with these names."""
    return next((c for c in cells if all(c[k] == v for k, v in named.items())), None)


def _ratio(cells: Sequence[Cell], variant: str = "full", **named: Any) -> float | None:
    one = cell(cells, **{"changes": 1_000, "customers": False, "vectors": False, **named})
    return one[variant]["median"] / one["refresh"]["median"] if one else None


def _star(cells: list[Cell]) -> Iterable[Target]:
    spj, agg = {"view": "select_join"}, {"view": "aggregate"}
    for rows, wanted in ((1, (5, 3)), (10, (15, 8)), (30, (35, 18))):
        for view, least in zip((spj, agg), wanted, strict=True):
            what = (
                f"full recompute / refresh, {_name(view)} view, {rows} million rows, 1,000 changes"
            )
            yield Target(what, True, least, _ratio(cells, rows=rows * 1_000_000, **view))
    for view, least in ((spj, 7), (agg, 4)):
        what = f"the same, {_name(view)} view, 10 million rows, deletion vectors"
        yield Target(what, True, least, _ratio(cells, rows=10_000_000, vectors=True, **view))
    for view, least in ((spj, 6), (agg, 4)):
        what = f"the same, {_name(view)} view, 10 million rows, with 10 customer updates"
        yield Target(what, True, least, _ratio(cells, rows=10_000_000, customers=True, **view))
    for view in (spj, agg):
        what = f"the same, {_name(view)} view, 10 million rows, 100,000 changes"
        yield Target(what, True, 4, _ratio(cells, rows=10_000_000, changes=100_000, **view))
    for view in (spj, agg):
        what = f"hand-written MERGE / refresh, {_name(view)} view, 10 million rows, 1,000 changes"
        yield Target(what, True, 8, _ratio(cells, "merge", rows=10_000_000, **view))


def _name(view: Cell) -> str:
    return {"select_join": "select-join", "aggregate": "aggregate"}[view["view"]]


def _growth(cells: list[Cell]) -> Iterable[Target]:
    plain = [c for c in cells if not c["customers"] and not c["vectors"]]
    rows = [
        large["refresh"]["median"] / small["refresh"]["median"]
        for view in ("select_join", "aggregate")
        if (small := cell(plain, view=view, rows=1_000_000, changes=1_000))
        and (large := cell(plain, view=view, rows=30_000_000, changes=1_000))
    ]
    yield Target("refresh at 30 million rows / refresh at 1 million", False, 1.3, _worst(rows))
    tenfold = [
        more["refresh"]["median"] / c["refresh"]["median"]
        for c in plain
        if (more := cell(plain, view=c["view"], rows=c["rows"], changes=10 * c["changes"]))
    ]
    yield Target(
        "refresh with 10 times the changes / refresh, up to 100,000", False, 4, _worst(tenfold)
    )


def _worst(values: Sequence[float]) -> float | None:
    return max(values, default=None)


def _readers(cells: list[Cell]) -> Iterable[Target]:
    read = [c["readers"] for c in cells if "readers" in c]
    limits: dict[str, Callable[[float], float]] = {
        "pending": lambda plain: max(1.5 * plain, plain + 0.5),
        "folded": lambda plain: TIE * plain,
    }
    told = {
        "pending": "aggregate and lookup with up to 1 % pending / (1.5 times the plain table's, or 0.5 s more)",
        "folded": f"the same after a fold / the plain table's (and {TIE - 1:.0%} for noise)",
    }
    for state, limit in limits.items():
        values = [
            r[state][query]["view"]["median"] / limit(r[state][query]["plain"]["median"])
            for r in read
            if state == "folded" or r["pending_share"] <= 0.01 or r["pending_steps"] <= 8
            for query in ("aggregate", "lookup")
        ]
        yield Target(told[state], False, 1, _worst(values))


def _others(found: Results) -> Iterable[Target]:
    chain = cell(found["chain"], changes=1_000, tables=6)
    value = chain["full"]["median"] / chain["refresh"]["median"] if chain else None
    yield Target("chain of six, 1,000 changes over all: full recompute / refresh", True, 1.5, value)
    quiet = [c["nothing_new"] for c in (*found["star"], *found["chain"])]
    yield Target("nothing new: Spark jobs", False, 0, _worst([q["jobs"] for q in quiet]))
    yield Target("nothing new: seconds", False, 0.05, _worst([q["median"] for q in quiet]))
    commits = [c["ratio"] for c in found["commits"]]
    yield Target(
        "1,000 commits: the last hundred refreshes / the first", False, 1.3, _worst(commits)
    )
    rounds = [round_ratio(c) for c in found["many"]]
    yield Target("100 views in one round / one view's refresh", False, 25, _worst(rounds))
    for c in found["shapes"]:
        what = f"{c['case']}, 1,000 changes of a million rows: full recompute / refresh"
        yield Target(what, True, 2, c["full"]["median"] / c["refresh"]["median"])
    grid = [regret(c) for c in (*found["star"], *found["chain"], *found["shapes"])]
    yield Target("auto / the better of full and incremental, worst cell", False, 1.2, _worst(grid))


def _postgresql(cells: list[Cell]) -> Iterable[Target]:
    refreshes = [c for c in cells if c["case"] == "refresh"]
    one = cell(refreshes, rows=10_000_000, changes=1_000)
    others = (("server", 10, "REFRESH in the server"), ("jdbc", 20, "recompute over JDBC"))
    for variant, least, name in others:
        what = f"PostgreSQL, 10 million rows, 1,000 changes: {name} / refresh"
        value = one[variant]["median"] / one["refresh"]["median"] if one else None
        yield Target(what, True, least, value)
    fetched = [c["fetched_per_change"] for c in refreshes]
    what = "PostgreSQL: rows fetched for each changed row and joined table"
    yield Target(what, False, 3, _worst(fetched))
    captures = [c for c in cells if c["case"] == "capture"]
    large = [min(c[kind] for kind in ("insert", "update", "delete", "largest")) for c in captures]
    yield Target("capture: changes a second in large transactions", True, 20_000, min(large, default=None))  # fmt: skip
    small = min((c["small"] for c in captures), default=None)
    yield Target("capture: small transactions a second", True, 300, small)
    grown = [c["largest_memory_mib"] / c["memory_mib"] for c in captures]
    what = "capture: memory after a transaction of a million changes / after one of 200,000"
    yield Target(what, False, TIE, _worst(grown))


def round_ratio(c: Cell) -> float:
    """A round against the mean of a select-join's and an aggregate's refresh alone."""
    return float(2 * c["round"]["median"] / (c["select_join"]["median"] + c["aggregate"]["median"]))


def regret(c: Cell) -> float:
    """How much slower `auto` was than the better way; two medians of the same way are a tie."""
    better = min(c["full"]["median"], c["refresh"]["median"])
    return float(c["auto"]["median"] / better)
