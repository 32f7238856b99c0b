"""The command line without a JVM: help, lazy loading, errors and their exit codes, and what the ledger alone tells."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ledger_rows import at, blocks, change, commit, refresh, registered, relation, step, view

from rollview.changes import Csn
from rollview.cli import doctor, project
from rollview.cli.failures import code_of
from rollview.cli.main import VERBS, rollview, run
from rollview.cli.printing import duration, plain
from rollview.cli.run import Patience
from rollview.config import Project, read_project, seconds_of
from rollview.errors import (
    ChangesLost,
    ConfigError,
    LedgerDamaged,
    RollviewError,
    TimeNotReached,
    ViewRefused,
)
from rollview.ledger.lock import WriteLock
from rollview.ledger.store import Ledger

NAMES = [name for verbs in VERBS.values() for name in verbs]


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


@pytest.fixture
def ledger(tmp_path: Path):
    """A project with a warehouse whose ledger was filled by hand."""
    (tmp_path / "rollview.toml").write_text('warehouse = "wh"\n')
    made = Ledger.open(tmp_path / "wh", create=True)
    with made.atomic():
        registered(made)
        for csn in range(1, 6):
            made.add_commit(commit(csn), [change(csn)])
        made.add_view(view(), blocks())
        made.set_view("v", state="ready", view_time=Csn(2))
        made.add_step(step("s1", 1, 2))
        made.add_refresh(refresh("v", 1))
    yield made
    made.close()


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = run(arguments)
    said = capsys.readouterr()
    return code, said.out, said.err


def in_project(folder: Path, *arguments: str) -> list[str]:
    return ["--project", str(folder), *arguments]


# --- help, and what is loaded


@pytest.mark.parametrize("name", NAMES)
def test_every_verb_has_a_summary_and_an_example(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = call(capsys, name, "--help")
    assert code == 0
    assert "Example:" in out
    summary = out.split("\n\n")[1].strip()
    assert summary.endswith(".") and len(summary.splitlines()[0]) <= 80


def test_help_names_every_verb_of_the_contract(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "--help")
    assert code == 0
    wanted = (
        "init source sql capture propagate apply fold refresh run status history explain verify query "
        "changes doctor demo drop show"
    )
    for name in wanted.split():
        assert f"\n  {name} " in out
    assert set(NAMES) == set(wanted.split())


@pytest.mark.parametrize(
    "arguments", [["--help"], ["status"], ["history"], ["source", "list"], ["doctor"]]
)
def test_b1_neither_pyspark_nor_java_is_loaded(
    arguments: list[str], ledger: Ledger, tmp_path: Path
) -> None:
    code = (
        "import sys; from rollview.cli.main import run; code = run(sys.argv[1:]);"
        "loaded = {'pyspark', 'py4j', 'delta', 'pyarrow', 'pandas'} & set(sys.modules);"
        "sys.stderr.write(f'loaded {sorted(loaded)} code {code}')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *in_project(tmp_path, *arguments)],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert "loaded [] code" in done.stderr


def test_the_options_of_the_place_stand_before_or_after_the_verb(
    ledger: Ledger, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = call(capsys, "--project", str(tmp_path), "status", "--json")
    after = call(capsys, "status", "--json", "--project", str(tmp_path))
    own = call(capsys, "status", "--json", "--warehouse", str(tmp_path / "wh"))
    names = [[s["name"] for s in json.loads(out)] for code, out, _ in (before, after, own)]
    assert names == [["v"], ["v"], ["v"]]


def test_the_project_is_found_in_a_folder_above(
    ledger: Ledger,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "views" / "deep").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "views" / "deep")
    code, out, _ = call(capsys, "status", "--json")
    assert code == 0 and json.loads(out)[0]["name"] == "v"


# --- errors


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ConfigError("x"), 2), (ViewRefused("x"), 2), (LedgerDamaged("x"), 3), (ChangesLost("x"), 4),
        (TimeNotReached("x"), 5), (RollviewError("x"), 1),
    ],
)  # fmt: skip
def test_f1_exit_codes(error: RollviewError, code: int) -> None:
    assert code_of(error) == code


def test_an_error_has_three_parts_on_stderr_and_no_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = call(capsys, "status")
    assert (code, out) == (2, "")
    assert err.startswith("error: there is no rollview project here\n  neither")
    assert "\nhint: rollview init makes one" in err and "Traceback" not in err
    assert "Traceback" in call(capsys, "status", "--debug")[2]


def test_f2_with_json_an_error_is_one_object_on_stderr(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = call(capsys, "status", "--json")
    assert (code, out) == (2, "")
    assert set(json.loads(err)) == {"error", "what", "detail", "hint"}
    assert json.loads(err)["error"] == "ConfigError"
    code, out, err = call(capsys, "status", "--json", "--nonsense")
    assert (code, out) == (2, "") and json.loads(err)["error"] == "NoSuchOption"


def test_an_unexpected_error_is_one_short_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise ValueError("first line\n" + "second line " * 100)

    monkeypatch.setattr(rollview, "main", broken)
    code, _, err = call(capsys, "status")
    assert code == 1
    assert err.splitlines() == [
        "error: unexpected ValueError", "  first line", "hint: run it again with --debug for the traceback",
    ]  # fmt: skip


def test_an_interrupt_says_what_stays(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    ledger: Ledger,
    tmp_path: Path,
) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("rollview.cli.looking._print_status", interrupted)
    code, _, err = call(capsys, *in_project(tmp_path, "status"))
    assert code == 130
    assert "what was committed stays" in err and "refresh goes on" in err


def test_a_locked_warehouse_says_who_has_it(
    ledger: Ledger, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with WriteLock(tmp_path / "wh", ledger):
        code, _, err = call(capsys, *in_project(tmp_path, "apply", "v", "--to", "2"))
        assert code == 3 and "open for writing" in err
        assert call(capsys, *in_project(tmp_path, "status"))[0] == 0


def test_a_damaged_ledger_is_a_warehouse_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "rollview.toml").write_text("")
    (tmp_path / "warehouse").mkdir()
    (tmp_path / "warehouse" / "ledger.db").write_text("no ledger")
    code, _, err = call(capsys, *in_project(tmp_path, "status"))
    assert code == 3 and "is damaged" in err
    code, out, _ = call(capsys, *in_project(tmp_path, "doctor"))
    assert code == 1 and "look ledger" in out


def test_a_view_that_is_not_there(
    ledger: Ledger, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for verb in ("status", "history"):
        code, _, err = call(capsys, *in_project(tmp_path, verb, "nothing"))
        assert code == 2 and 'there is no view "nothing"' in err and "views: v" in err


def test_p2_reading_makes_no_warehouse(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "rollview.toml").write_text("")
    code, _, err = call(capsys, *in_project(tmp_path, "status"))
    assert code == 2 and "no warehouse" in err and "rollview refresh" in err
    assert not (tmp_path / "warehouse").exists()


# --- init and rollview.toml


def test_init_makes_a_project_that_is_valid(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "shop"
    code, out, _ = call(capsys, "init", str(folder))
    assert code == 0 and "rollview refresh" in out
    assert read_project(folder).run == {"every": "30 seconds"}
    assert project.view_files(read_project(folder)) == []
    assert (folder / ".gitignore").read_text() == "warehouse/\n"
    assert call(capsys, *in_project(folder, "status"))[0] == 0
    assert call(capsys, *in_project(folder, "source", "list"))[0] == 0


def test_init_with_a_lake_writes_a_first_view(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("sales", "customer"):
        (tmp_path / "my lake" / name / "_delta_log").mkdir(parents=True)
        (tmp_path / "my lake" / name / "_delta_log" / f"{0:020d}.json").write_text("{}\n")
    folder = tmp_path / "shop"
    code, out, _ = call(capsys, "init", str(folder), "--lake", str(tmp_path / "my lake"))
    assert code == 0 and "customer, sales" in out
    assert read_project(folder).sources == {"lake": {"delta": str(tmp_path / "my lake")}}
    (file,) = project.view_files(read_project(folder))
    assert file.view.name == "example" and "lake.customer" in file.view.query


def test_init_leaves_a_project_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "rollview.toml").write_text("# mine\n")
    code, _, err = call(capsys, "init", str(tmp_path))
    assert code == 2 and "project already" in err
    assert (tmp_path / "rollview.toml").read_text() == "# mine\n"
    assert call(capsys, "init", str(tmp_path / "new"), "--lake", str(tmp_path / "none"))[0] == 2
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("wharehouse = 'x'", 'unknown entry "wharehouse"'),
        ("warehouse = 3", '"warehouse" cannot be 3'),
        ("spark = 'local'", '"spark" cannot be "local"'),
        ("[source]\nlake = '/data'", '"source.lake" cannot be "/data"'),
        ("[source.lake]\npath = '/data'", 'unknown entry "source.lake.path"'),
        ("[run]\nevery = 'often'", 'setting "run.every" cannot be "often"'),
        ("[run]\neach = 3", 'unknown entry "run.each"'),
        ("warehouse =", "cannot be read"),
    ],
)
def test_config_errors_name_the_setting(
    text: str, part: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "rollview.toml").write_text(text)
    code, _, err = call(capsys, *in_project(tmp_path, "status"))
    assert code == 2 and part in err


def test_dotted_spark_settings_are_flattened(tmp_path: Path) -> None:
    (tmp_path / "rollview.toml").write_text(
        "[spark]\nmaster = 'local[2]'\nsql.shuffle.partitions = 4\nspark.ui.enabled = false\n"
        "'sql.session.name' = 'x'\n"
    )
    read = read_project(tmp_path)
    assert read.master == "local[2]"
    assert read.spark == {
        "spark.sql.shuffle.partitions": "4", "spark.ui.enabled": "false", "spark.sql.session.name": "x",
    }  # fmt: skip
    assert read.warehouse == tmp_path / "warehouse"


def test_durations() -> None:
    assert seconds_of("30s", "every") == 30 and seconds_of("2 minutes", "every") == 120
    assert duration(5) == "5 s" and duration(300) == "5 min" and duration(200_000) == "2 d"


# --- views/*.sql


def files(folder: Path, **texts: str) -> Project:
    (folder / "rollview.toml").write_text("")
    (folder / "views").mkdir(exist_ok=True)
    for name, text in texts.items():
        (folder / "views" / f"{name}.sql").write_text(text)
    return read_project(folder)


def test_t1_a_file_is_a_select_or_create_statements(tmp_path: Path) -> None:
    found = project.view_files(files(
        tmp_path,
        alone="-- what it is\nSELECT 1 AS one;\n",
        two="CREATE MATERIALIZED VIEW b AS SELECT ';' AS c;\nCREATE MATERIALIZED VIEW c AS SELECT 2 AS d",
        empty="-- nothing yet\n",
    ))  # fmt: skip
    assert [f.view.name for f in found] == ["alone", "b", "c"]
    assert found[2].view.query.count("\n") == 1  # it keeps its line


@pytest.mark.parametrize(
    "texts",
    [
        {"a": "DROP MATERIALIZED VIEW x"},
        {"a": "SELECT 1 AS x; SELECT 2 AS x"},
        {"a": "SELECT 1 AS x", "b": "CREATE MATERIALIZED VIEW a AS SELECT 1 AS x"},
        {"a": "SELECT * FROM b", "b": "SELECT * FROM a"},
        {"not-a-name": "SELECT 1 AS x"},
        {"a": "CREATE MATERIALIZED VIEW"},
        {"a": "SELECT 'open"},
    ],
)
def test_t3_bad_files_are_named(
    texts: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(RollviewError) as raised:
        project.view_files(files(tmp_path, **texts))
    assert isinstance(raised.value, (ConfigError, ViewRefused))
    assert "views/" in raised.value.detail or " reads " in raised.value.detail


def test_t2_views_come_after_those_they_read(tmp_path: Path) -> None:
    found = project.view_files(files(
        tmp_path,
        a="SELECT * FROM z JOIN lake.a ON true",
        m="WITH x AS (SELECT * FROM a) SELECT * FROM x",
        z="SELECT * FROM lake.sales",
    ))  # fmt: skip
    assert [f.view.name for f in found] == ["z", "a", "m"]
    assert [f.view.name for f in project._wanted(found, ["a"])] == ["z", "a"]


def test_t2_a_changed_file_is_an_error(ledger: Ledger, tmp_path: Path) -> None:
    class Opened:
        pass

    wh: Any = Opened()
    wh.ledger = ledger

    def missing(text: str) -> bool:
        (file,) = project.view_files(files(tmp_path, v=text))
        return project._missing_or_replaced(wh, file)

    assert missing("-- other words\n select   V") is False
    with pytest.raises(ConfigError, match="is not what its file says"):
        missing("SELECT w")
    assert missing("CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT w") is True
    with pytest.raises(ConfigError, match="other options") as raised:
        missing("CREATE MATERIALIZED VIEW v TBLPROPERTIES ('fold' = 'auto') AS SELECT v")
    assert "SET TBLPROPERTIES ('fold' = 'auto')" in raised.value.hint


def test_paths_of_sources_are_relative_to_the_project(tmp_path: Path) -> None:
    (tmp_path / "lake").mkdir()
    (tmp_path / "rollview.toml").write_text(
        "[source.a]\ndelta = 'lake'\n[source.b.delta]\nx = 'lake'\ny = 'catalog.y'\n[source.c]\ndelta = 's3://b/x'\n"
    )
    read = read_project(tmp_path)
    assert project.source_options(read, "a") == {"delta": str(tmp_path / "lake")}
    assert project.source_options(read, "b") == {
        "delta": {"x": str(tmp_path / "lake"), "y": "catalog.y"}
    }
    assert project.source_options(read, "c") == {"delta": "s3://b/x"}
    with pytest.raises(ConfigError, match='no source "d"'):
        project.source_options(read, "d")


# --- what the ledger alone tells


def test_status(ledger: Ledger, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, *in_project(tmp_path, "status"))
    assert code == 0
    row = next(line for line in out.splitlines() if line.startswith("v "))
    assert "ready" in row and "2026-03-01 12:00:02" in row and "3 behind" in row and "auto" in row
    code, out, _ = call(capsys, *in_project(tmp_path, "status", "v", "--json"))
    (said,) = json.loads(out)
    assert (said["view_time"], said["lag"], said["newest"]) == (2, 3, 5)
    assert said["view_time_at"] == at(2).isoformat()
    code, out, _ = call(capsys, *in_project(tmp_path, "status", "v"))
    assert "readable" in out and "0 to 2" in out


def test_status_says_why_something_stopped(
    ledger: Ledger, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger.set_view("v", state="stopped", reason="column [b]total[/b] is gone")
    ledger.put_relation(relation("lake.sales", stopped="the table was replaced"))
    _, out, _ = call(capsys, *in_project(tmp_path, "status"))
    assert "v is stopped: column [b]total[/b] is gone" in out
    assert "table lake.sales stopped: the table was replaced" in out


def test_history(ledger: Ledger, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, *in_project(tmp_path, "history"))
    assert code == 0 and "incremental" in out and "0.25" in out
    _, out, _ = call(capsys, *in_project(tmp_path, "history", "--json"))
    (row,) = json.loads(out)
    assert row["started_at"] == at(0).isoformat() and row["details"] == {"n": 1}


def test_source_list(ledger: Ledger, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, *in_project(tmp_path, "source", "list"))
    assert code == 0 and "lake.customer" in out and "/data/sales" in out
    _, out, _ = call(capsys, *in_project(tmp_path, "source", "list", "--json"))
    (lake,) = json.loads(out)
    assert [t["name"] for t in lake["tables"]] == ["lake.customer", "lake.sales"]


def test_apply_rolls_all_or_none(
    ledger: Ledger, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = call(capsys, *in_project(tmp_path, "apply", "v", "--to", "1", "--json"))
    assert code == 0 and json.loads(out) == [{"view": "v", "before": 2, "view_time": 1}]
    ledger.add_view(view("w", "ready"), blocks("w"))
    ledger.set_block("w", oldest=Csn(2))
    code, _, err = call(capsys, *in_project(tmp_path, "apply", "--to", "2026-03-01 12:00:01.5"))
    assert code == 5 and "readable times: 2 to 2" in err
    both = [ledger.view(name) for name in ("v", "w")]
    assert [row.view_time for row in both if row] == [1, None]


def test_plain_data() -> None:
    said = plain({"a": (at(0), Path("/x")), "error": ChangesLost("w", "d", "h")})
    assert said["a"] == [at(0).isoformat(), "/x"]
    assert said["error"] == {"error": "ChangesLost", "what": "w", "detail": "d", "hint": "h"}


# --- doctor


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A machine with Java and jars."""
    home = tmp_path_factory.mktemp("java")
    (home / "bin").mkdir()
    (home / "bin" / "java").write_text("")
    (home / "release").write_text('JAVA_VERSION="21.0.2"\n')
    monkeypatch.setattr(doctor, "java", lambda: str(home / "bin" / "java"))
    monkeypatch.setattr(doctor, "unverified", lambda folder: [])
    return home


def findings(capsys: pytest.CaptureFixture[str], folder: Path) -> tuple[int, dict[str, Any]]:
    code, out, _ = call(capsys, *in_project(folder, "doctor", "--json"))
    said = json.loads(out)
    return code, {f["subject"]: f for f in said}


def test_doctor_is_content(
    machine: Path, ledger: Ledger, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = findings(capsys, tmp_path)
    assert code == 0, said
    assert said["Java"]["text"].endswith("version 21")
    assert "5 transactions" in said["ledger"]["text"] and said["lock"]["text"] == "nobody writes"
    assert "all is well" in call(capsys, *in_project(tmp_path, "doctor"))[1]


def test_doctor_finds_what_needs_attention(
    machine: Path, ledger: Ledger, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (machine / "release").write_text('JAVA_VERSION="1.8.0_402"\n')
    ledger.set_view("v", state="stopped", reason="a column is gone")
    ledger.put_relation(relation("lake.sales", stopped="the table was replaced"))
    ledger.begin("build", "v", {"at": 3})
    (tmp_path / "wh" / "views" / "gone").mkdir(parents=True)
    code, said = findings(capsys, tmp_path)
    assert code == 1
    wrong = {subject for subject, f in said.items() if not f["ok"]}
    assert wrong == {"Java", "view v", "table lake.sales", "work in hand", "files"}
    assert said["work in hand"]["hint"] == "rollview refresh v goes on with it"
    with WriteLock(tmp_path / "wh", ledger):
        assert findings(capsys, tmp_path)[1]["work in hand"]["ok"]


def test_orphans_are_folders_that_nothing_names(ledger: Ledger, tmp_path: Path) -> None:
    ledger.put_trash("views/old/0")
    intent = ledger.begin("step", "v", {"folder": "views/v/1"})
    warehouse = tmp_path / "wh"
    for name in (
        "views/v/0/folded", "views/v/1/folded", f"views/v/1/steps/{intent.id}", "views/v/1/steps/lost",
        "views/old/0/steps/x", "views/old/1", "views/stray/0",
    ):  # fmt: skip
        (warehouse / name).mkdir(parents=True)
    assert doctor.orphans(warehouse, ledger) == [
        "views/old/1",
        "views/stray",
        "views/v/1/steps/lost",
    ]


# --- run


def test_q2_a_view_that_fails_waits_longer_each_time() -> None:
    patience = Patience(10.0)
    assert patience.due("v")
    patience.failed("v")
    first = patience.failures["v"][1]
    patience.failed("v")
    assert not patience.due("v") and patience.failures["v"][1] > first + 15
    patience.worked("v")
    assert patience.due("v")
