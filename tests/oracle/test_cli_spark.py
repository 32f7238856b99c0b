"""The command line on Spark: a project from its first refresh to its last drop, the rounds of `run`, and the demo."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rollview.cli.main import run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

TOTALS = """\
SELECT c.region, COUNT(*) AS sales, SUM(s.amount) AS total
FROM lake.sales s JOIN lake.customer c ON c.id = s.customer
GROUP BY c.region
"""
LARGE = """\
CREATE MATERIALIZED VIEW large TBLPROPERTIES ('policy' = 'incremental') AS
SELECT region, total FROM totals WHERE total >= 100;
"""


class Typist:
    """Types commands in a project and reads what comes back."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.capsys = folder, capsys

    def type(self, *arguments: str) -> tuple[int, str, str]:
        self.capsys.readouterr()
        code = run(["--project", str(self.folder), *arguments])
        said = self.capsys.readouterr()
        return code, said.out, said.err

    def json(self, *arguments: str) -> Any:
        code, out, err = self.type(*arguments, "--json")
        assert code == 0, err
        return json.loads(out)

    def rows(self, *arguments: str) -> list[Any]:
        return sorted(self.json(*arguments)["rows"], key=str)


class Lake:
    """Two Delta Lake tables, written without rollview."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark, self.folder = spark, folder
        self.write("customer", "(1, 'north'), (2, 'south')", "id int, region string")
        self.write(
            "sales", "(1, 1, 60.50), (2, 2, 10.00)", "id int, customer int, amount decimal(10,2)"
        )

    def write(self, table: str, rows: str, columns: str) -> None:
        names = [c.split()[0] for c in columns.split(", ")]
        casts = ", ".join(
            f"CAST({c.split()[0]} AS {c.split(' ', 1)[1]})" for c in columns.split(", ")
        )
        frame = self.spark.sql(f"SELECT {casts} FROM VALUES {rows} AS t({', '.join(names)})").toDF(
            *names
        )
        frame.coalesce(1).write.format("delta").mode("append").option(
            "delta.enableChangeDataFeed", "true"
        ).save(str(self.folder / table))

    def sell(self, rows: str) -> None:
        self.write("sales", rows, "id int, customer int, amount decimal(10,2)")

    def delete(self, table: str, condition: str) -> None:
        from delta.tables import DeltaTable

        DeltaTable.forPath(self.spark, str(self.folder / table)).delete(condition)


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Lake:
    return Lake(spark, tmp_path / "lake")


@pytest.fixture
def typist(
    lake: Lake, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Typist:
    monkeypatch.setenv("COLUMNS", "200")
    typed = Typist(tmp_path / "shop", capsys)
    assert run(["init", str(typed.folder), "--lake", str(lake.folder)]) == 0
    return typed


def test_the_life_of_a_project(lake: Lake, typist: Typist) -> None:  # noqa: PLR0915 (one life)
    views = typist.folder / "views"
    (views / "example.sql").unlink()
    (views / "a_large.sql").write_text(LARGE)
    (views / "totals.sql").write_text(TOTALS)

    # the first refresh makes everything, what is read first
    made = typist.json("refresh")
    assert [s["name"] for s in made["sources"]] == ["lake"]
    assert made["created"] == ["totals", "large"]
    assert [v["view"] for v in made["views"]] == ["large", "totals"]
    assert typist.rows("show", "totals") == [
        {"region": "north", "sales": 1, "total": "60.50"}, {"region": "south", "sales": 1, "total": "10.00"},
    ]  # fmt: skip
    assert typist.json("refresh")["created"] == []

    # the lake moves on
    lake.sell("(3, 1, 50.00), (4, 2, 5.00)")
    assert [c["waiting_commits"] for c in typist.json("source", "check", "lake")] == [0, 1]
    code, out, _ = typist.type("capture")
    assert code == 0 and out == "1 new transaction; the newest is 1\n"
    assert [s["lag"] for s in typist.json("status")] == [1, 1]
    explained = typist.json("explain", "totals")
    assert explained["technique"] != "NO_OP" and "lake.sales" in explained["steps"][0]["terms"][0]
    code, out, _ = typist.type("explain", "totals")
    assert code == 0 and "changes of lake.sales in (0, 1]" in out and "SELECT" in out and "█" in out

    # refreshed, then rolled back and forth
    assert {v["view_time"] for v in typist.json("refresh")["views"]} == {1}
    assert typist.rows("show", "large") == [{"region": "north", "total": "110.50"}]
    assert typist.rows("changes", "large", "--from", "0")[0]["_count"] == 1
    lake.delete("sales", "id = 3")
    typist.json("capture")
    typist.json("propagate")
    assert [s["high_water_mark"] for s in typist.json("status")] == [2, 2]
    assert typist.rows("show", "large", "--as-of", "2") == []
    assert [a["view_time"] for a in typist.json("apply")] == [2, 2]
    assert typist.rows("show", "large") == []
    assert typist.json("apply", "--to", "1")[0] == {"view": "large", "before": 2, "view_time": 1}
    assert typist.rows("query", "SELECT SUM(total) AS s FROM totals") == [{"s": "125.50"}]
    code, _, err = typist.type("apply", "totals", "--to", "99")
    assert code == 5 and "no transaction 99" in err

    # checked, folded, looked at
    assert all(v["ok"] for v in typist.json("verify"))
    assert "equal to a recompute" in typist.type("verify", "totals")[1]
    assert typist.json("refresh", "totals")["views"][0]["view_time"] == 2
    assert typist.type("fold")[0] == 0
    assert all(v["ok"] for v in typist.json("verify"))
    assert {h["state"] for h in typist.json("history")} == {"ok"}
    assert typist.type("doctor")[0] == 0

    # a changed file, a refused view, and the end
    (views / "totals.sql").write_text(TOTALS.replace("SUM", "AVG"))
    code, _, err = typist.type("refresh")
    assert code == 2 and "is not what its file says" in err and "views/totals.sql" in err
    (views / "totals.sql").write_text(TOTALS)
    (views / "bad.sql").write_text("SELECT *\nFROM lake.sales\nLIMIT 3")
    code, _, err = typist.type("refresh")
    assert code == 2 and "at line 3" in err and "^" in err and "in views/bad.sql" in err
    code, _, err = typist.type("drop", "totals")
    assert code == 2 and 'view "large" reads it' in err
    code, out, _ = typist.type("drop", "large", "totals")
    assert code == 0 and "views/totals.sql is still there" in out
    assert typist.json("status") == []
    assert typist.type("source", "drop", "lake")[0] == 0


def test_statements(lake: Lake, typist: Typist, tmp_path: Path) -> None:
    typist.json("source", "add", "lake")
    file = tmp_path / "more.sql"
    file.write_text(
        "CREATE MATERIALIZED VIEW v AS SELECT id, amount FROM lake.sales WHERE id < 9;\n"
        "ALTER MATERIALIZED VIEW v SET TBLPROPERTIES ('keep' = '1 day');\n"
        "SELECT * FROM v ORDER BY id;"
    )
    created, altered, selected = typist.json("sql", "-f", str(file))
    assert created["result"]["technique"] == "COMPLETE_RECOMPUTE" and altered["result"] is None
    assert selected["result"]["rows"][0] == {"id": 1, "amount": "60.50"}
    code, out, _ = typist.type(
        "sql", "EXPLAIN CREATE MATERIALIZED VIEW w AS SELECT DISTINCT id FROM v"
    )
    assert code == 0 and "Reduce of v by id" in out
    code, _, err = typist.type("sql", "SELECT 1 AS x; CREATE MATERIALIZED VIEW w AS\nSELEC id")
    assert code == 2 and "line 2" in err
    code, _, err = typist.type(
        "sql", "CREATE MATERIALIZED VIEW w AS SELECT nothing FROM lake.sales", "--json"
    )
    assert code == 2 and json.loads(err)["error"] == "ViewRefused"


def test_q1_q2_a_round_brings_every_view_and_goes_on_after_a_failure(
    lake: Lake, typist: Typist, monkeypatch: pytest.MonkeyPatch
) -> None:
    (typist.folder / "views" / "totals.sql").write_text(TOTALS)
    typist.json("refresh")
    lake.sell("(5, 1, 1.00)")
    code, out, _ = typist.type("run", "--once")
    assert code == 0 and "1 new transaction" in out and len(out.splitlines()) == 1
    assert {s["view_time"] for s in typist.json("status")} == {1}
    code, out, _ = typist.type("run", "--once")
    assert code == 0 and "0 new transactions" in out

    lake.sell("(6, 1, 1.00)")
    (lake.folder / "customer").rename(lake.folder / "away")
    code, out, err = typist.type("run", "--once")
    assert code == 5 and "error" not in out and "hint" in err
    assert typist.type("doctor")[0] == 1


def test_q3_run_stops_cleanly_on_a_signal(
    lake: Lake, typist: Typist, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rollview.cli import run as running

    def told(done: Any, as_json: bool, tell: Any = running._print_round) -> None:
        tell(done, as_json)
        os.kill(os.getpid(), signal.SIGTERM)

    typist.json("refresh")
    monkeypatch.setattr(running, "_print_round", told)
    code, out, err = typist.type("run", "--every", "1 hour")
    assert code == 0 and "stopped; every view stays" in err and len(out.splitlines()) == 1


@pytest.mark.slow
def test_by_its_own_process_only_json_is_on_stdout(lake: Lake, typist: Typist) -> None:
    typist.json("refresh")
    done = subprocess.run(
        [sys.executable, "-m", "rollview.cli.main", "show", "example", "--json", "--project", str(typist.folder)],
        capture_output=True, text=True, timeout=300, check=True,
    )  # fmt: skip
    assert json.loads(done.stdout)["rows"] == [{"row_count": 2}]
    assert done.stderr == ""


@pytest.mark.slow
def test_the_demo_runs_and_verifies(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run(["demo", "--keep", str(tmp_path / "kept"), "--json"])
    told = json.loads(capsys.readouterr().out)
    assert code == 0 and told["ok"] and len(told["verified"]) in (4, 6)  # 6 with PostgreSQL
    assert {c["technique"] for c in told["compared"]} == {"ROW_BASED", "GROUP_AGGREGATE"}
    kept = Typist(tmp_path / "kept", capsys)
    assert len({s["view_time"] for s in kept.json("status")}) == 1
    assert kept.json("refresh")["created"] == []
