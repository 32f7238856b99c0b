"""Results as tables on the terminal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich.console import Group
from rich.table import Table

from bench import profile

Found = list[dict[str, Any]]


def seconds(summary: dict[str, Any] | None) -> str:
    """A median with its extremes; the number of runs where there were fewer than five."""
    if summary is None:
        return ""
    few = f" n={summary['runs']}" if summary["runs"] < 5 else ""
    return f"{summary['median']:.2f} ({summary['min']:.2f}-{summary['max']:.2f}){few}"


def ratio(cell: dict[str, Any], variant: str) -> str:
    """How many times faster the refresh was than another variant."""
    return f"{cell[variant]['median'] / cell['refresh']['median']:.1f}" if variant in cell else ""


def _tail(c: dict[str, Any]) -> list[str]:
    """The columns that the star and the chain share."""
    busy = max(c[v]["other_cpu"] for v in ("full", "merge", "refresh", "auto") if v in c)
    return [seconds(c["full"]), seconds(c.get("merge")), seconds(c["refresh"]),
            f"{c['auto']['median']:.2f} {c['auto_technique']}", ratio(c, "full"), ratio(c, "merge"),
            str(c["refresh"]["jobs"]), f"{1000 * c['nothing_new']['median']:.0f}", f"{busy:.0%}"]  # fmt: skip


TAIL = ("full s", "merge s", "refresh s", "auto s", "full / refresh", "merge / refresh", "jobs", "nothing new ms",
        "other CPU")  # fmt: skip


def star(cells: Found) -> Group:
    """The cells of the star, and what readers pay."""
    table = Table("rows", "changes", "cust.", "DV", "view", *TAIL,
                  title="star: medians (min-max); the contents of all variants were equal")  # fmt: skip
    reading = Table("rows", "view", "state", "query", "plain s", "view s", "pending", "fold s",
                    title="readers")  # fmt: skip
    for c in cells:
        table.add_row(f"{c['rows']:,}", f"{c['changes']:,}", "yes" * c["customers"],
                      "yes" * c["vectors"], c["view"], *_tail(c))  # fmt: skip
        readers = c.get("readers", {})
        for state in ("pending", "folded") if readers else ():
            for query, both in readers[state].items():
                reading.add_row(f"{c['rows']:,}", c["view"], state, query, seconds(both["plain"]),
                                seconds(both["view"]), f"{readers['pending_share']:.2%}",
                                f"{readers['fold_seconds']:.2f}")  # fmt: skip
    return Group(table, reading) if reading.row_count else Group(table)


def chain(cells: Found) -> Table:
    """The cells of the chain."""
    table = Table("changes", "over tables", *TAIL, title="chain of six tables, 100,000 rows each")
    for c in cells:
        table.add_row(f"{c['changes']:,}", str(c["tables"]), *_tail(c))
    return table


def many(cells: Found) -> Table:
    """The round over many views."""
    table = Table("rows", "views", "round s", "select-join alone s", "aggregate alone s",
                  "round / one", "jobs", title="many views over one star")  # fmt: skip
    for c in cells:
        one = (c["select_join"]["median"] + c["aggregate"]["median"]) / 2
        table.add_row(f"{c['rows']:,}", str(c["views"]), seconds(c["round"]), seconds(c["select_join"]),
                      seconds(c["aggregate"]), f"{c['round']['median'] / one:.1f}",
                      str(c["round"]["jobs"]))  # fmt: skip
    return table


def commits(cells: Found) -> Table:
    """Small commits in a row."""
    table = Table("view", "commits", "first 100 s", "last 100 s", "ratio", "folds", "fold s", "fold per refresh s",
                  "files", "MB", title="small commits in a row: 10 changes each")  # fmt: skip
    for c in cells:
        table.add_row(c["view"], f"{c['commits']:,}", f"{c['first']:.3f}", f"{c['last']:.3f}", f"{c['ratio']:.2f}",
                      str(c["folds"]), str(c["fold_seconds"]), str(c["fold_per_refresh"]),
                      " > ".join(f"{n:,}" for n in c["files"]),
                      " > ".join(f"{n / 1e6:.1f}" for n in c["bytes"]))  # fmt: skip
    return table


def shapes(cells: Found) -> Table:
    """What SQL has besides; rows are those that Spark's tasks read and wrote for each changed row."""
    table = Table(
        "shape", *TAIL, "read", "written", title="other shapes, a million rows, 1,000 changes"
    )
    for c in cells:
        moved = [f"{c['refresh'][k] / c['changes']:.1f}" for k in ("rows_read", "rows_written")]
        table.add_row(c["case"], *_tail(c), *moved)
    return table


def start(cells: Found) -> Table:
    """A cold process."""
    table = Table("part", "seconds", title="session start, a process each")
    for c in cells:
        table.add_row(c["case"], seconds(c["seconds"]))
    return table


def postgresql(cells: Found) -> Group:
    """Refreshes of a view over a live database, what those who write pay, and capture."""
    table = Table("rows", "changes", "REFRESH s", "JDBC s", "refresh s", "REFRESH / refresh", "JDBC / refresh", "jobs",
                  "round trips", "fetched per change", title="a live PostgreSQL database")  # fmt: skip
    writing = Table("alone tx/s", "p99 ms", "beside rollview tx/s", "p99 ms", "refreshes",
                    title="what two clients that write pay")  # fmt: skip
    stream = Table("insert", "update", "delete", "small transactions", "one of a million", "MiB",
                   title="capture, changes a second")  # fmt: skip
    for c in cells:
        if c["case"] == "refresh":
            table.add_row(f"{c['rows']:,}", f"{c['changes']:,}", seconds(c["server"]), seconds(c["jdbc"]),
                          seconds(c["refresh"]), ratio(c, "server"), ratio(c, "jdbc"), str(c["refresh"]["jobs"]),
                          str(c["round_trips"]), f"{c['fetched_per_change']:.2f}")  # fmt: skip
        elif c["case"] == "writers":
            alone, beside = c["alone"], c["beside"]
            writing.add_row(f"{alone['per_second']:,}", f"{alone['p99_ms']:.1f}", f"{beside['per_second']:,}",
                            f"{beside['p99_ms']:.1f}", str(c["refreshes"]))  # fmt: skip
        else:
            rates = ("insert", "update", "delete", "small", "largest")
            stream.add_row(*(f"{c[name]:,}" for name in rates),
                           f"{c['memory_mib']} > {c['largest_memory_mib']}")  # fmt: skip
    return Group(table, writing, stream)


TABLES: dict[str, Callable[[Found], Any]] = {
    "star": star,
    "chain": chain,
    "many": many,
    "commits": commits,
    "shapes": shapes,
    "start": start,
    "profile": profile.shown,
    "postgresql": postgresql,
}
