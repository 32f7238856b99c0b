"""A password is never in the ledger, a log, a plan, an error, Delta Lake's metadata or the list of processes.

The password is one that works: it is looked for in every byte that rollview writes and says, and in the command lines
of all processes while it is at work.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from rollview.errors import SourceError
from rollview.warehouse import Warehouse

pytest_plugins = ["servers"]

CALL = "import sys; from rollview.cli.main import run; sys.exit(run(sys.argv[1:]))"


@pytest.fixture
def world(postgres, database, monkeypatch) -> Iterator[tuple[psycopg.Connection, str, str]]:
    """The owner, a URL with the password in it, and the password."""
    with psycopg.connect(database(), autocommit=True) as owner:
        owner.execute("CREATE TABLE orders (id int PRIMARY KEY, v text)")
        owner.execute("ALTER TABLE orders REPLICA IDENTITY FULL")
        owner.execute("INSERT INTO orders VALUES (1, 'x'), (2, 'y')")
        secret = postgres.passfile.read_text().strip().rpartition(":")[2]
        assert len(secret) > 10
        plain = postgres.tcp_url(owner.info.dbname)
        yield owner, plain.replace("rv@", f"rv:{secret}@"), secret


def command_lines() -> bytes:
    """Those of all processes now, as `ps` shows them."""
    found = []
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            found.append(Path("/proc", process, "cmdline").read_bytes())
        except OSError:
            continue
    return b"\n".join(found)


def files(folder: Path) -> bytes:
    """Every byte below a folder."""
    return b"".join(p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file())


@pytest.mark.parametrize("how", ["env", "file"])
def test_on_the_command_line(world, tmp_path: Path, how: str) -> None:
    owner, url, secret = world
    kept = tmp_path / "shop.url"
    kept.write_text(url)
    kept.chmod(0o600)
    environment = {**os.environ, **({"RV_SHOP": url} if how == "env" else {})}
    where = "env:RV_SHOP" if how == "env" else f"file:{kept}"
    (tmp_path / "project").mkdir()
    seen = []

    def call(*arguments: str) -> int:
        with subprocess.Popen(
            [sys.executable, "-c", CALL, *arguments, "--warehouse", str(tmp_path / "project" / "wh")],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment,
            cwd=tmp_path / "project",
        ) as process:  # fmt: skip
            while process.returncode is None:
                seen.append(command_lines())
                with suppress(subprocess.TimeoutExpired):
                    process.wait(0.1)
            assert process.stdout is not None
            seen.append(process.stdout.read())
        return process.returncode

    assert call("source", "add", "shop", "--postgres", where, "--mode", "live") == 0, seen[-1]
    owner.execute("INSERT INTO orders VALUES (3, 'z')")
    for verb in (["capture"], ["source", "list"], ["source", "check"], ["status"], ["doctor"]):
        call(*verb)
        assert b"Traceback" not in seen[-1], seen[-1]
    kept.write_text(url.replace(secret, secret + "wrong"))
    environment["RV_SHOP"] = kept.read_text()
    call("capture")
    assert b"lets nobody in" in seen[-1]
    assert len(seen) > 20
    assert not [s for s in seen if secret.encode() in s]
    assert secret.encode() not in files(tmp_path / "project")


@pytest.mark.spark
@pytest.mark.slow
def test_what_executors_lack_is_said(world, spark, tmp_path: Path, monkeypatch) -> None:
    """They resolve the reference themselves; a variable that only this process has leads them nowhere."""
    _, url, _ = world
    monkeypatch.setenv("RV_ONLY_HERE", url)
    spark.sparkContext.parallelize([1], 1).map(str).collect()  # their processes have started
    with (
        Warehouse(tmp_path / "wh", spark) as wh,
        pytest.raises(SourceError, match='the environment variable "RV_ONLY_HERE" is not set'),
    ):
        wh.add_source("copy", postgres="env:RV_ONLY_HERE", tables=["orders"])


@pytest.mark.spark
@pytest.mark.slow
def test_in_views_plans_logs_and_metadata(world, spark, tmp_path: Path, capfd) -> None:
    owner, url, secret = world
    kept = tmp_path / "shop.url"  # an environment variable would be of the executors' own processes
    kept.write_text(url)
    kept.chmod(0o600)
    said: list[str] = []
    with Warehouse(tmp_path / "wh", spark) as wh:
        for name, mode in (("copy", "replica"), ("live", "live")):
            wh.add_source(name, postgres=f"file:{kept}", tables=["orders"], mode=mode)
        wh.sql("CREATE MATERIALIZED VIEW v TBLPROPERTIES ('fold' = 'always') AS "
               "SELECT a.id, b.v FROM copy.orders a JOIN live.orders b ON a.id = b.id")  # fmt: skip
        owner.execute("UPDATE orders SET v = v || '!'")
        said += [repr(wh.explain("v")), repr(wh.refresh("v")), repr(wh.history("v"))]
        for frame in (wh.table("v"), wh.query("SELECT * FROM live.orders")):
            said.append(frame._jdf.queryExecution().toString())
        said += [repr(wh.status("v")), repr(wh.sources()), repr(wh.ledger.stream("live"))]
        assert {r.v for r in wh.table("v").collect()} == {"x!", "y!"}
        said.append(command_lines().decode(errors="replace"))
        kept.write_text(url.replace(secret, secret + "wrong"))
        with pytest.raises(SourceError) as refused:
            wh.query("SELECT * FROM live.orders")
        said += [str(refused.value), repr(refused.value.__dict__)]
        said.append(str(dict(spark.sparkContext.getConf().getAll())))
    out, err = capfd.readouterr()
    for each in (*said, out, err):
        assert secret not in each
    assert list((tmp_path / "wh").rglob("_delta_log/*.json"))
    assert secret.encode() not in files(tmp_path / "wh")
