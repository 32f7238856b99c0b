"""The benchmarks' own machinery: no times are asserted, and no JVM runs."""

import json
import sys
from pathlib import Path

import pytest
from duck import Duck

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT))  # bench is no installed package

from bench import (  # noqa: E402
    chain,
    compare,
    files,
    many,
    postgresql,
    report,
    results,
    tables,
    targets,
)
from bench import star as star_tables  # noqa: E402
from bench.commits import Writer  # noqa: E402
from bench.measure import Run, Samples, cpu_seconds  # noqa: E402
from rollview.sources.delta_lake.log import newest_version, read_commit  # noqa: E402
from rollview.views.blocks import inputs  # noqa: E402
from rollview.views.parse import parse_view  # noqa: E402


def summary(median: float, jobs: int = 5) -> dict[str, float]:
    return {
        "median": median,
        "min": median,
        "max": median,
        "runs": 5,
        "jobs": jobs,
        "other_cpu": 0.0,
    }


def star(rows: int, view: str = "select_join", changes: int = 1_000, **more: object) -> dict:
    return {"rows": rows, "changes": changes, "customers": False, "vectors": False, "view": view,
            "full": summary(6), "merge": summary(4), "refresh": summary(0.5), "auto": summary(0.5),
            "nothing_new": summary(0.01, 0), "auto_technique": "ROW_BASED", **more}  # fmt: skip


def found(*cells: dict) -> targets.Results:
    empty: targets.Results = {name: [] for name in report.BENCHMARKS}
    return {**empty, "star": list(cells)}


def lake(folder: Path, commits: int) -> Path:
    log = folder / "sales" / files.LOG
    log.mkdir(parents=True)
    for version in range(commits):
        (folder / "sales" / f"{version}.parquet").write_text(str(version))
        (log / f"{version:020d}.json").write_text("{}\n")
    return folder


def test_a_copy_shows_one_batch_after_the_other(tmp_path: Path) -> None:
    source = lake(tmp_path / "source", 5)
    (source / "marks.json").write_text(json.dumps([{"sales": 1}, {"sales": 3}, {"sales": 4}]))
    copy = files.Copy(source, tmp_path / "copy")
    assert files.versions(copy.path) == {"sales": 1}
    copy.reveal()
    assert (files.versions(copy.path), copy.left) == ({"sales": 3}, 1)
    assert (copy.path / "sales" / "4.parquet").samefile(source / "sales" / "4.parquet")
    copy.reveal()
    assert (files.versions(copy.path), copy.left) == ({"sales": 4}, 0)


def test_a_cache_that_was_half_made_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    monkeypatch.setattr(files, "CACHE", tmp_path)
    made = []

    def make(folder: Path) -> files.Marks:
        (folder / "some").touch()
        made.append(folder)
        if len(made) == 1:
            raise KeyboardInterrupt
        return [{"sales": 0}]

    with pytest.raises(KeyboardInterrupt):
        files.cached("star", make)
    assert files.cached("star", make) == files.cached("star", make) == tmp_path / "star"
    assert len(made) == 2


def test_only_the_files_of_the_newest_commit_stay(tmp_path: Path) -> None:
    table = lake(tmp_path, 3) / "sales"
    newest = {"add": {"path": "2.parquet"}}
    (table / files.LOG / f"{2:020d}.json").write_text(json.dumps(newest))
    files.only_newest(table)
    assert [f.name for f in table.glob("*.parquet")] == ["2.parquet"]


def test_commits_written_by_hand_are_read_as_ten_changes(tmp_path: Path) -> None:
    table = lake(tmp_path, 1) / "sales"
    writer = Writer(table, 1_000)
    writer.commit()
    writer.commit()
    assert newest_version(str(table)) == 2
    commit = read_commit(str(table), 2)
    assert [len(commit.adds), len(commit.removes)] == [2, 1]
    assert sum(f.records or 0 for f in commit.adds) == 8 + 7


def test_a_median_comes_with_its_extremes() -> None:
    samples = Samples([Run(seconds, jobs=3) for seconds in (0.1, 0.5, 0.2)])
    told = samples.summary()
    assert [told[k] for k in ("median", "min", "max", "runs", "jobs")] == [0.2, 0.1, 0.5, 3, 3]


def test_own_work_is_not_taken_for_that_of_others() -> None:
    busy, own = cpu_seconds()
    assert busy >= own >= 0


def test_targets_are_met_missed_or_not_measured() -> None:
    told = {t.what: t for t in targets.targets(found(star(1_000_000), star(10_000_000)))}
    one, ten, thirty = (told[f"full recompute / refresh, select-join view, {n} million rows, 1,000 changes"]
                        for n in (1, 10, 30))  # fmt: skip
    assert [t.met for t in (one, ten, thirty)] == ["yes", "**no**", "not measured"]
    assert ten.value == 12


POSTGRESQL = [
    {"case": "refresh", "rows": 10_000_000, "changes": 1_000, "server": summary(6), "jdbc": summary(9),
     "refresh": summary(0.5), "round_trips": 1, "fetched_per_change": 0.9, "build_seconds": 5.0},
    {"case": "writers", "rows": 10_000_000, "seconds": 5.0, "refreshes": 9,
     "alone": {"per_second": 900, "p99_ms": 2.0}, "beside": {"per_second": 800, "p99_ms": 3.0}},
    {"case": "capture", "insert": 50_000, "update": 30_000, "delete": 30_000, "small": 6_000, "largest": 19_000,
     "memory_mib": 180, "largest_memory_mib": 190},
]  # fmt: skip


def test_targets_of_a_live_database() -> None:
    told = targets.targets({**found(), "postgresql": POSTGRESQL})
    met = [t.met for t in told if "PostgreSQL" in t.what or "capture" in t.what]
    assert met == ["yes", "**no**", "yes", "**no**", "yes", "yes"]


def test_tables_of_a_live_database() -> None:
    live, writing, stream = tables.TABLES["postgresql"](POSTGRESQL).renderables
    assert list(live.columns[5].cells) == ["12.0"] and list(live.columns[8].cells) == ["1"]
    assert [list(c.cells) for c in writing.columns] == [["900"], ["2.0"], ["800"], ["3.0"], ["9"]]
    assert list(stream.columns[-1].cells) == ["180 > 190"]


def test_auto_is_held_against_the_better_way() -> None:
    assert targets.regret(star(1, auto=summary(0.6))) == pytest.approx(1.2)
    assert targets.regret(star(1, refresh=summary(9), auto=summary(9))) == 1.5


def test_what_was_not_run_again_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "KEPT", tmp_path)
    results.write("star", [star(1_000_000), star(10_000_000)], True)
    results.write("star", [star(10_000_000, full=summary(7))], True)
    assert [c["full"]["median"] for c in results.read(tmp_path / "star.json")] == [6, 7]


def test_compare_tells_what_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "KEPT", tmp_path)
    results.write("star", [star(1_000_000, full=summary(9), merge=summary(4.1))], True)
    monkeypatch.setattr(compare, "committed", lambda *_: [star(1_000_000)])
    (table,) = compare.shown("HEAD").renderables
    told = [list(column.cells) for column in table.columns]
    assert told[1:] == [["full"], ["6.000"], ["9.000"], ["1.50"]]


def test_the_page_is_written_from_the_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    monkeypatch.setattr(results, "KEPT", tmp_path / "results")
    monkeypatch.setattr(report, "PAGE", tmp_path / "performance.md")
    monkeypatch.setattr(report, "PICTURES", tmp_path / "img")
    cells = [
        star(rows, view)
        for rows in (1_000_000, 10_000_000)
        for view in ("select_join", "aggregate")
    ]
    results.write("star", cells, True)
    results.write("postgresql", POSTGRESQL, True)
    report.write()
    page = (tmp_path / "performance.md").read_text(encoding="utf-8")
    assert "| 10M | 1,000 |  |  | 6.00 (6.00-6.00) |" in page
    assert "| 10,000,000 | 1,000 | 6.00 (6.00-6.00) | 9.00 (9.00-9.00) |" in page
    assert "| beside rollview | 800 | 3.00 |" in page and "180, then 190" in page
    assert "![seconds by rows of sales](img/star-rows.png)" in page
    assert {f.name for f in (tmp_path / "img").iterdir()} >= {"star-rows.png", "star-rows.svg"}


KEYS = (("sale_id", "bigint"), ("cust_id", "bigint"), ("prod_id", "bigint"))
SCHEMA = {
    "lake.sales": (*KEYS, ("amount", "decimal(10,2)")),
    "lake.customer": (("cust_id", "bigint"), ("state", "int"), ("segment", "int")),
    "lake.product": (("prod_id", "bigint"), ("category", "int"), ("price", "int")),
    "shop.sales": (*KEYS, ("amount", "decimal(10,2)")),
    "shop.customer": (("cust_id", "int"), ("state", "int"), ("segment", "int")),
    "shop.product": (("prod_id", "int"), ("category", "int"), ("price", "int")),
    **{f"lake.r{n}": (("a", "bigint"), ("b", "bigint")) for n in range(1, chain.TABLES + 1)},
}


def test_every_view_that_is_measured_can_be_maintained() -> None:
    describe = Duck(SCHEMA).describe
    assert len({many.view(n)[0] for n in range(100)}) == 100
    some = dict(many.view(n) for n in range(0, 100, 9))  # of every kind
    views = {**star_tables.VIEWS, "chain": chain.VIEW, "live": postgresql.SQL, **some}
    definitions = {name: parse_view(name, sql, SCHEMA, describe) for name, sql in views.items()}
    assert len(definitions["select_join"].columns) == 8
    assert len(inputs(definitions["chain"].blocks[-1])) == 6
