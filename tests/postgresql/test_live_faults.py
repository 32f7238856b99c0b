"""Questions to a live database through a bad network: a clear error, and the same answer afterwards."""

import psycopg
import pytest
from proxy import Proxy

from rollview.changes import Csn
from rollview.errors import SourceError, Unreachable
from rollview.sources.postgresql import connect, live
from rollview.sources.postgresql.live import reading
from rollview.warehouse import Warehouse

pytest_plugins = ["servers"]

FAULTS = ("cut", "stall", "half_open")


@pytest.fixture
def world(postgres, database, tmp_path, monkeypatch):
    """A captured table behind a proxy; a server may be silent for a second."""
    monkeypatch.setattr(connect.Patient, "silence_seconds", 1.0)
    original = connect.connected

    def impatient(where, source, **more):
        return original(where, source, **{**more, "silence_seconds": 1.0})

    with (
        Proxy(postgres.port) as proxy,
        psycopg.connect(database(), autocommit=True) as owner,
        Warehouse(tmp_path / "wh") as wh,
    ):
        owner.execute("CREATE TABLE t (id int, v text)")
        owner.execute("ALTER TABLE t REPLICA IDENTITY FULL")
        owner.execute("INSERT INTO t SELECT i, 'v' || i FROM generate_series(1, 500) i")
        url = f"{postgres.tcp_url(owner.info.dbname, port=proxy.port)}?passfile={postgres.passfile}"
        wh.add_source("shop", postgres=url, tables=["t"], mode="live")
        owner.execute("UPDATE t SET v = 'w' WHERE id <= 10")
        wh.capture()
        monkeypatch.setattr(live, "connected", impatient)
        yield wh, owner, proxy


def rows_at(wh, at):
    with reading(wh.ledger, wh.path, "shop", ["shop.t"]) as now:
        return now.whole("shop.t", Csn(at), ["id", "v"])


def net(rows):
    total = {}
    for row in rows.to_pylist():
        key = row["id"], row["v"]
        total[key] = total.get(key, 0) + row["_rv_count"]
    return {k: n for k, n in total.items() if n}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_while_a_moment_is_held(world, fault):
    wh, owner, proxy = world
    before = net(rows_at(wh, 1))
    with pytest.raises(SourceError), reading(wh.ledger, wh.path, "shop", ["shop.t"]) as now:
        getattr(proxy, fault)()
        now.whole("shop.t", Csn(1), ["id", "v"])
    proxy.heal()
    owner.execute("DELETE FROM t WHERE id > 400")
    assert net(rows_at(wh, 1)) == before


@pytest.mark.parametrize("passed", [200, 2_000, 6_000, 9_000])
def test_a_connection_that_breaks_in_the_middle_of_an_answer(world, passed):
    wh, _, proxy = world
    before = net(rows_at(wh, 1))
    proxy.limit = proxy.passed + passed
    try:
        found = net(rows_at(wh, 1))
    except Unreachable:
        found = before
    assert found == before
    proxy.limit = None
    assert net(rows_at(wh, 1)) == before


def test_a_backend_that_is_terminated(world):
    wh, owner, _ = world
    with pytest.raises(Unreachable), reading(wh.ledger, wh.path, "shop", ["shop.t"]) as now:
        owner.execute("SELECT pg_terminate_backend(%s)", [now.connection.info.backend_pid])
        now.whole("shop.t", Csn(1), ["id", "v"])
    assert sum(net(rows_at(wh, 1)).values()) == 500


def test_no_secret_in_what_is_said(world, postgres):
    wh, _, proxy = world
    secret = postgres.passfile.read_text().strip().rpartition(":")[2]
    with (
        pytest.raises(SourceError) as failed,
        reading(wh.ledger, wh.path, "shop", ["shop.t"]) as now,
    ):
        proxy.cut()
        now.whole("shop.t", Csn(1), ["id", "v"])
    assert secret not in str(failed.value)
    assert secret not in str(wh.ledger.source("shop"))
    assert secret.encode() not in (wh.path / "ledger.db").read_bytes()
