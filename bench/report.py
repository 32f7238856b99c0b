"""docs/performance.md and its pictures, written from the saved results; nothing in that page is typed by hand."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from bench import plots, results, targets

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "performance.md"
PICTURES = ROOT / "docs" / "img"
FOLD_EVERY = 50
"""A view with so many pending steps is folded: over so many refreshes a fold is spread at most."""
BENCHMARKS = ("star", "chain", "many", "commits", "shapes", "start", "profile", "postgresql")
VIEWS = {"select_join": "select-join", "aggregate": "aggregate"}

TOP = """# Performance

Written by `python -m bench report` from `bench/results`; do not edit. `make bench` measures anew, `make bench-large`
adds the large tables, `make bench-compare` prints what changed against the last commit.

{machine}

**Read this first.** Seconds are wall-clock medians of warm runs, with the extremes in brackets; `n=` is given where
fewer than five runs were made. Variants alternate within one process, so that ratios within a row can be trusted and
times across rows less so: read differences below 1.15 as ties. A refresh is over when the view can be read at the new
time. Every variant's contents were compared as bags at the end. What the words mean: `glossary.md`.
"""

STAR = """## The star

Sales ({rows} rows) join customer (100,000) and product (10,000), all Delta Lake tables with the change feed. The
select-join view has 8 columns and about half of the rows; the aggregate view has 1,000 groups. A batch is 80 %
inserts, 10 % updates and 10 % deletes of sales, scattered over the table, in three commits; *customers* adds updates
of a hundredth as many customers. *Full* recomputes by Spark and overwrites a stored Delta Lake table. *MERGE* is
written by hand: the change feed since the last run, joined with the dimensions, merged into a table with deletion
vectors. *Auto* is rollview choosing by itself.
"""
READERS = """## What readers pay

The same queries on the plain table that the full recompute wrote and on the view: with changes pending, and after a
fold. Each query is planned anew, as a user's would be. The last column spreads the fold over the 50 refreshes after
which a view is folded at the latest.
"""
CHAIN = """## The chain of six tables

Six tables of 100,000 rows, each joined with the next, one partner a row on average; half of the changes are inserts,
half deletes.
"""
MANY = """## Many views

{views} views over one star of {rows} rows, half of them select-joins and half aggregates, brought to one time by one
call after a batch of 1,000 changes; against one view of either kind alone, in a warehouse of its own.
"""
COMMITS = """## Small commits in a row

Commits of 10 changes, each refreshed by itself and folded where that pays, as `rollview run` does. Files and bytes
are those of the view's whole warehouse: at the start, at the end, and once the grace time of replaced files is over.
"""
SHAPES = """## Other shapes

Each over a table of {rows} rows with 1,000 changes: the sales of the star, or for the closure half a million ways of
two links. Rows are those that Spark's tasks and the driver read from files and wrote to them, for each row that
changed, by a refresh and by a full recompute.
"""
START = """## Session start

A process that imports rollview, opens a warehouse, starts Spark and refreshes the select-join view of the star
(1 million rows, 1,000 changes), each time from nothing.
"""
POSTGRESQL = """## A live PostgreSQL database

Sales (N rows) join customer (N / 100) and product (N / 1,000), tables of a PostgreSQL server on the same machine, which
nothing is copied from (`mode="live"`). The view is an aggregate of 1,000 groups; a batch is 80 % inserts, 10 % updates
and 10 % deletes of sales, in three transactions. *REFRESH* is REFRESH MATERIALIZED VIEW in the server; *JDBC* reads the
tables with Spark, in parallel, and overwrites a stored table. *Fetched* are rows that the server sent for each changed
row and joined table.
"""
WRITERS = """### What those who write pay

Two clients run short transactions (an update, a lookup and an insert by key) for {seconds:g} seconds, three times,
alone and while rollview captures and refreshes the view without a pause ({refreshes} refreshes), all on the same cores.
"""
CAPTURED = """### Capture

Changes a second that are read from the server's stream, decoded and stored: transactions of 200,000 changes, 5,000
transactions of one change, and one transaction of a million changes. Memory is the largest that the process had had.
"""
PROFILE = """## Where the time goes

One warm refresh of the star. Parts are nested; jobs are Spark's.
"""


def write() -> None:
    """The pictures, then the page."""
    found = {name: results.read(results.path(name, True)) for name in BENCHMARKS}
    drawn = plots.draw(found, PICTURES)
    sections = [TOP.format(machine=_machine()), _targets(found), _star(found["star"], drawn),
                _readers(found["star"], drawn), _chain(found["chain"], drawn), _many(found["many"]),
                _commits(found["commits"], drawn), _shapes(found["shapes"]), _start(found["start"]),
                _postgresql(found["postgresql"]), _profile(found["profile"])]  # fmt: skip
    PAGE.write_text("\n".join(s.rstrip() + "\n" for s in sections if s), encoding="utf-8")


def _machine() -> str:
    """The machines, each with what was measured on it: ratios of one are not compared with times of another."""
    found: dict[str, list[str]] = {}
    for name in BENCHMARKS:
        if (file := results.path(name, True)).exists():
            found.setdefault(_described(json.loads(file.read_text())["machine"]), []).append(name)
    if len(found) < 2:
        return "".join(f"Machine: {one}." for one in found) or "Nothing was measured yet."
    return "\n".join(f"- {', '.join(names)}: {one}." for one, names in found.items())


def _described(m: dict[str, Any]) -> str:
    hardware = f"{m['cores']} cores of {m['processor']}, {m['memory_gib']} GiB, {m['system']}"
    software = f"PySpark {m['pyspark']}, delta-spark {m['delta-spark']}, rollview {m['rollview']}"
    return f"{hardware}; Python {m['python']}, {software}; {m['at']}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def _picture(name: str, drawn: Sequence[str], told: str) -> str:
    return f"\n![{told}](img/{name}.png)\n" if name in drawn else ""


def seconds(summary: dict[str, Any] | None) -> str:
    """A median with its extremes."""
    if summary is None:
        return ""
    few = f", n={summary['runs']}" if summary["runs"] < 5 else ""
    return f"{summary['median']:.2f} ({summary['min']:.2f}-{summary['max']:.2f}{few})"


def _targets(found: targets.Results) -> str:
    rows = [
        [t.what, f"{'at least' if t.at_least else 'at most'} {t.wanted:g}",
         "" if t.value is None else f"{t.value:.3g}", t.met]
        for t in targets.targets(found)
    ]  # fmt: skip
    return "## Targets\n\n" + table(["target", "wanted", "measured", "met"], rows)


def _times(c: dict[str, Any], merge: bool) -> list[str]:
    refresh = c["refresh"]["median"]
    merged = [seconds(c["merge"])] if merge else []
    ratios = [
        f"{c[v]['median'] / refresh:.1f}" for v in (("full", "merge") if merge else ("full",))
    ]
    auto = "full" if c["auto_technique"] == "COMPLETE_RECOMPUTE" else "incremental"
    return [seconds(c["full"]), *merged, seconds(c["refresh"]), *ratios, str(c["refresh"]["jobs"]),
            f"{auto}, {targets.regret(c):.2f}"]  # fmt: skip


def _star(cells: list[dict[str, Any]], drawn: Sequence[str]) -> str:
    if not cells:
        return ""
    sizes = sorted({c["rows"] for c in cells})
    text = STAR.format(rows=", ".join(f"{n // 1_000_000} million" for n in sizes))
    text += _picture("star-rows", drawn, "seconds by rows of sales")
    text += _picture("star-changes", drawn, "seconds by changes in the batch")
    head = ["rows", "changes", "customers", "deletion vectors", "full s", "MERGE s", "refresh s",
            "full / refresh", "MERGE / refresh", "jobs", "auto: choice, against the better"]  # fmt: skip
    for view, name in VIEWS.items():
        rows = [[f"{c['rows'] // 1_000_000}M", f"{c['changes']:,}", "yes" * c["customers"], "yes" * c["vectors"],
                 *_times(c, merge=True)] for c in cells if c["view"] == view]  # fmt: skip
        text += f"\n### The {name} view\n\n{table(head, rows)}"
    return text


def _readers(cells: list[dict[str, Any]], drawn: Sequence[str]) -> str:
    rows = []
    for c in cells:
        read = c.get("readers", {"pending": {}})
        for query, both in read["pending"].items():
            times = [both["plain"], both["view"], read["folded"][query]["view"]]
            rows.append([VIEWS[c["view"]], f"{c['rows'] // 1_000_000}M", query, *map(seconds, times),
                         f"{read['pending_share']:.2%} in {read['pending_steps']} steps",
                         f"{read['fold_seconds']:.1f}", f"{read['fold_seconds'] / FOLD_EVERY:.3f}"])  # fmt: skip
    head = ["view", "rows", "query", "plain s", "pending s", "folded s", "pending", "the fold s",
            "per refresh s"]  # fmt: skip
    picture = _picture("readers", drawn, "seconds of readers' queries")
    return f"{READERS}{picture}\n{table(head, rows)}" if rows else ""


def _chain(cells: list[dict[str, Any]], drawn: Sequence[str]) -> str:
    head = ["changes", "over tables", "full s", "refresh s", "full / refresh", "jobs",
            "auto: choice, against the better"]  # fmt: skip
    rows = [[f"{c['changes']:,}", str(c["tables"]), *_times(c, merge=False)] for c in cells]
    picture = _picture("chain", drawn, "seconds for the chain of six tables")
    return f"{CHAIN}{picture}\n{table(head, rows)}" if rows else ""


def _many(cells: list[dict[str, Any]]) -> str:
    if not cells:
        return ""
    c = cells[-1]
    head = ["round s", "select-join alone s", "aggregate alone s", "round / one", "jobs"]
    rows = [[seconds(c["round"]), seconds(c["select_join"]), seconds(c["aggregate"]),
             f"{targets.round_ratio(c):.1f}", f"{c['round']['jobs']:,}"]]  # fmt: skip
    top = MANY.format(views=c["views"], rows=f"{c['rows']:,}")
    return f"{top}\n{table(head, rows)}"


def _commits(cells: list[dict[str, Any]], drawn: Sequence[str]) -> str:
    head = ["view", "commits", "first hundred s", "last hundred s", "ratio", "folds", "a fold s",
            "folding per refresh s", "files", "MB"]  # fmt: skip
    rows = [
        [VIEWS[c["view"]], f"{c['commits']:,}", f"{c['first']:.3f}", f"{c['last']:.3f}", f"{c['ratio']:.2f}",
         str(c["folds"]), f"{c['fold_seconds'] or 0:.2f}", f"{c['fold_per_refresh']:.3f}",
         ", ".join(f"{n:,}" for n in c["files"]), ", ".join(f"{n / 1e6:.1f}" for n in c["bytes"])]
        for c in cells
    ]  # fmt: skip
    picture = _picture("commits", drawn, "seconds of a refresh, commit after commit")
    return f"{COMMITS}{picture}\n{table(head, rows)}" if rows else ""


def _shapes(cells: list[dict[str, Any]]) -> str:
    head = ["shape", "full s", "refresh s", "full / refresh", "jobs", "auto: choice, against the better", "technique",
            "rows read", "rows written"]  # fmt: skip
    rows = [
        [c["case"], *_times(c, merge=False), c["technique"],
         *(" / ".join(f"{c[way][k] / c['changes']:,.1f}" for way in ("refresh", "full"))
           for k in ("rows_read", "rows_written"))]
        for c in cells
    ]  # fmt: skip
    top = SHAPES.format(rows=f"{cells[0]['rows']:,}") if cells else ""
    return f"{top}\n{table(head, rows)}" if rows else ""


def _start(cells: list[dict[str, Any]]) -> str:
    rows = [[c["case"], seconds(c["seconds"])] for c in cells]
    return f"{START}\n{table(['part', 'seconds'], rows)}" if rows else ""


def _profile(cells: list[dict[str, Any]]) -> str:
    text = ""
    for c in cells:
        told = f"{VIEWS[c['view']]} view, {c['rows']:,} rows, {c['changes']:,} changes"
        text += f"\n### {told}: {c['milliseconds']:,} ms\n\n{c['calls']:,} calls into the JVM.\n\n"
        rows = [[str(s["at"]), str(s["took"]), "· " * s["depth"] + s["what"]] for s in c["spans"]]
        text += table(["at ms", "took ms", "what"], rows)
    return PROFILE + text if text else ""


def _postgresql(cells: list[dict[str, Any]]) -> str:
    refreshes = [c for c in cells if c["case"] == "refresh"]
    head = ["rows", "changes", "REFRESH s", "JDBC s", "refresh s", "REFRESH / refresh", "JDBC / refresh", "jobs",
            "round trips", "fetched"]  # fmt: skip
    rows = [
        [f"{c['rows']:,}", f"{c['changes']:,}", seconds(c["server"]), seconds(c["jdbc"]), seconds(c["refresh"]),
         *(f"{c[v]['median'] / c['refresh']['median']:.1f}" for v in ("server", "jdbc")),
         str(c["refresh"]["jobs"]), str(c["round_trips"]), f"{c['fetched_per_change']:.2f}"]
        for c in refreshes
    ]  # fmt: skip
    text = f"{POSTGRESQL}\n{table(head, rows)}" if rows else ""
    for c in (c for c in cells if c["case"] == "writers"):
        told = [[name, f"{c[key]['per_second']:,}", f"{c[key]['p99_ms']:.2f}"]
                for key, name in (("alone", "alone"), ("beside", "beside rollview"))]  # fmt: skip
        head = ["", "transactions a second", "99th percentile ms"]
        text += f"\n{WRITERS.format(**c)}\n{table(head, told)}"
    kinds = {"insert": "inserts", "update": "updates", "delete": "deletes", "small": "small transactions",
             "largest": "a million in one"}  # fmt: skip
    for c in (c for c in cells if c["case"] == "capture"):
        memory = f"{c['memory_mib']}, then {c['largest_memory_mib']}"
        told = [[*(f"{c[kind]:,}" for kind in kinds), memory]]
        text += f"\n{CAPTURED}\n{table([*kinds.values(), 'MiB'], told)}"
    return text
