"""Two roles, and servers on the command line: the owner prepares once, rollview's role does the rest."""

import json

import psycopg
import pytest

from rollview.changes import Csn
from rollview.cli.main import run
from rollview.errors import ConfigError
from rollview.sources.postgresql import roles
from rollview.sources.postgresql.live import reading
from rollview.warehouse import Warehouse

pytest_plugins = ["servers"]


@pytest.fixture
def cli(capsys, monkeypatch):
    """Runs a command; what it printed."""
    monkeypatch.setenv("COLUMNS", "200")

    def call(*arguments, code=0):
        found = run(arguments)
        said = capsys.readouterr()
        assert found == code, said.out + said.err
        return said.out

    return call


@pytest.fixture
def prepared(postgres, database, cli):
    """A database that its owner prepared by the printed script, and the URL of rollview's role."""
    url = database()
    with psycopg.connect(url, autocommit=True) as owner:
        name, role = owner.info.dbname, f"role_{owner.info.dbname}"
        owner.execute("CREATE TABLE orders (id int, v text)")
        owner.execute("INSERT INTO orders VALUES (1, 'x'), (1, 'x')")
        arguments = ["--database", name, "--table", "orders", "--role", role]
        for line in cli("source", "roles", "shop", *arguments).splitlines():
            owner.execute(line)
        yield owner, postgres.url(name, role)
    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute(f"DROP OWNED BY {roles.quoted(role)}")
        owner.execute(f"DROP ROLE {roles.quoted(role)}")


def test_the_runtime_role_is_enough(prepared, tmp_path):
    owner, url = prepared
    with Warehouse(tmp_path / "wh") as wh:
        wh.add_source("shop", postgres=url, tables=["public.orders"], mode="live")
        owner.execute("INSERT INTO orders VALUES (2, 'y')")
        assert wh.capture().commits == 1
        owner.execute("DELETE FROM orders WHERE id = 1")
        with reading(wh.ledger, wh.path, "shop", ["shop.orders"], many_keys=True) as now:
            assert now.stores_keys
            for at, rows in ((0, 2), (1, 3)):
                found = now.whole("shop.orders", Csn(at), ["id", "v"])
                assert sum(found.column("_rv_count").to_pylist()) == rows
        slot = wh.ledger.stream("shop").slot
    count = "SELECT count(*) FROM pg_replication_slots WHERE slot_name = %s"
    assert owner.execute(count, [slot]).fetchone() == (1,)


def test_a_server_that_is_not_ready_is_refused_with_all_points(prepared, tmp_path):
    owner, url = prepared
    owner.execute("ALTER TABLE orders ENABLE ROW LEVEL SECURITY")
    owner.execute(f"ALTER ROLE role_{owner.info.dbname} NOREPLICATION")
    with Warehouse(tmp_path / "wh") as wh:
        with pytest.raises(ConfigError, match="is not ready") as refused:
            wh.add_source("shop", postgres=url, tables=["public.orders"], mode="live")
        assert (
            "row security" in refused.value.detail and "stream of changes" in refused.value.detail
        )
        for line in refused.value.hint.splitlines()[1:]:
            owner.execute(line)
        wh.add_source("shop", postgres=url, tables=["public.orders"], mode="live")


def test_check_and_doctor(prepared, cli, tmp_path):
    owner, url = prepared
    place = ["--warehouse", str(tmp_path / "wh")]

    def doctor():
        return {f["subject"]: f for f in json.loads(cli("doctor", "--json", *place, code=1))}

    with Warehouse(tmp_path / "wh") as wh:
        wh.add_source("shop", postgres=url, tables=["public.orders"], mode="live")
        slot = wh.ledger.stream("shop").slot
    said = cli("source", "check", "shop", *place)
    assert "wal_level: logical" in said and "table public.orders: logged" in said
    owner.execute("ALTER TABLE orders REPLICA IDENTITY DEFAULT")
    said = cli("source", "check", "shop", *place, code=1)
    assert 'ALTER TABLE "public"."orders" REPLICA IDENTITY FULL;' in said
    owner.execute("ALTER TABLE orders REPLICA IDENTITY FULL")
    other = f"rollview_{owner.info.dbname}"
    owner.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", [other])
    findings = doctor()
    assert findings[f"slot {slot}"]["ok"] and "behind" in findings[f"slot {slot}"]["text"]
    assert not findings[f"slot {other}"]["ok"]
    owner.execute(findings[f"slot {other}"]["hint"])
    owner.execute("SELECT pg_drop_replication_slot(%s)", [slot])
    assert "changes are lost" in doctor()[f"slot {slot}"]["text"]
