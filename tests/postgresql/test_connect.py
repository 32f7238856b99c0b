"""Connections: what is pinned, where secrets may be, who is verified, and what a bad network does."""

import time
import traceback

import psycopg
import pytest
from proxy import Proxy

from rollview.errors import ConfigError, SourceError, Unreachable
from rollview.sources.postgresql import connect
from rollview.sources.postgresql.connect import PINNED, connected, is_local, resolved

pytest_plugins = ["servers"]

SECRET = "s3cr3t-canary"


def shown(connection, name):
    return connection.execute(f"SHOW {name}").fetchone()[0]


def test_z1_roles_and_databases_cannot_change_the_settings(postgres, database):
    url = database()
    with psycopg.connect(url, autocommit=True) as owner:
        name = owner.info.dbname
        for setting in ("TimeZone='Asia/Tokyo'", "DateStyle='German'", "bytea_output='escape'",
                        "extra_float_digits='0'", "search_path='public'", "statement_timeout='1ms'"):  # fmt: skip
            owner.execute(f"ALTER DATABASE {name} SET {setting}")
    with connected(f"{url}&options=-cDateStyle%3DGerman", "shop") as connection:
        for setting, value in PINNED.items():
            assert shown(connection, setting).replace(", ", ",") == value, setting
        row = connection.execute(
            "SELECT '2020-01-01 00:00+00'::timestamptz::text, 0.1::float8::text, '\\x01'::bytea::text"
        ).fetchone()
        assert row == ("2020-01-01 00:00:00+00", "0.1", "\\x01")


def test_nothing_is_written_unless_asked(database):
    url = database()
    with connected(url, "shop") as connection, pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        connection.execute("CREATE TABLE public.t (a int)")
    with connected(url, "shop", writes=True) as connection:
        connection.execute("CREATE TABLE public.t (a int)")


def test_replication_connections_have_the_same_settings(database):
    with connected(database(), "shop", replication=True) as connection:
        assert shown(connection, "TimeZone") == "UTC"
        assert len(connection.execute("IDENTIFY_SYSTEM").fetchone()) == 4


def test_z2_a_password_in_a_url_is_refused_and_not_repeated():
    for url in (f"postgresql://u:{SECRET}@h/d", f"postgresql://u@h/d?password={SECRET}"):
        with pytest.raises(ConfigError) as refused:
            resolved(url)
        assert SECRET not in str(refused.value)


@pytest.mark.parametrize(
    "bad", [f"postgresql://u:{SECRET}@h:x/d?nonsense={SECRET}", "mysql://h/d", "", "env:RV_BAD"]
)
def test_z2_what_is_no_url_is_refused_and_not_repeated(bad, monkeypatch):
    monkeypatch.setenv("RV_BAD", f"postgresql://u:{SECRET}%zz@h")
    with pytest.raises(ConfigError) as refused:
        resolved(bad)
    trace = "".join(traceback.format_exception(refused.value))
    assert SECRET not in trace.replace(f"{bad!r}", "")


def test_z2_secrets_in_the_environment_in_a_file_and_in_a_passfile(postgres, tmp_path, monkeypatch):
    password = postgres.passfile.read_text().strip().split(":")[-1]
    whole = postgres.tcp_url().replace("rv@", f"rv:{password}@")
    monkeypatch.setenv("RV_SHOP", whole)
    with connected("env:RV_SHOP", "shop") as connection:
        assert connection.info.user == "rv"
    kept = tmp_path / "shop.url"
    kept.touch(0o600)
    kept.write_text(whole)
    with connected(f"file:{kept}", "shop") as connection:
        assert connection.info.user == "rv"
    with connected(f"{postgres.tcp_url()}?passfile={postgres.passfile}", "shop") as connection:
        assert connection.info.user == "rv"
    monkeypatch.setenv("PGPASSWORD", password)
    with connected(postgres.tcp_url(), "shop") as connection:
        assert connection.info.user == "rv"
    kept.chmod(0o640)
    with pytest.raises(ConfigError, match="can be read by others"):
        connected(f"file:{kept}", "shop")


def test_z2_a_wrong_password_is_not_shown(postgres, monkeypatch):
    monkeypatch.setenv("RV_SHOP", postgres.tcp_url().replace("rv@", f"rv:{SECRET}@"))
    with pytest.raises(Unreachable, match="lets nobody in") as refused:
        connected("env:RV_SHOP", "shop")
    assert SECRET not in str(refused.value)
    assert SECRET not in repr(refused.value.__dict__)


def test_z2_what_is_not_set_is_said(monkeypatch):
    monkeypatch.delenv("RV_NONE", raising=False)
    with pytest.raises(ConfigError, match='"RV_NONE" is not set'):
        resolved("env:RV_NONE")


@pytest.mark.parametrize(("url", "mode"), [
    ("postgresql://u@db.example.org/d", "verify-full"),
    ("postgresql://u@10.0.0.1/d", "verify-full"),
    ("postgresql://u@localhost,db.example.org/d", "verify-full"),
    ("postgresql:///d?service=s", "verify-full"),
    ("postgresql://u@db.example.org/d?sslmode=require", "require"),
    ("postgresql://u@localhost/d", None),
    ("postgresql://u@127.0.0.2,[::1]/d", None),
    ("postgresql://u@/d?host=/run/postgresql", None),
    ("postgresql:///d", None),
])  # fmt: skip
def test_z3_only_local_servers_are_not_verified(url, mode, monkeypatch):
    for name in ("PGHOST", "PGHOSTADDR", "PGSSLMODE", "PGSERVICE", "PGSSLROOTCERT"):
        monkeypatch.delenv(name, raising=False)
    found = resolved(url)
    assert found.get("sslmode") == mode
    assert ("sslrootcert" in found) == (mode == "verify-full")


def test_z3_the_environment_counts(monkeypatch):
    monkeypatch.setenv("PGHOST", "db.example.org")
    assert not is_local({})
    monkeypatch.setenv("PGSSLMODE", "prefer")
    assert "sslmode" not in resolved("postgresql:///d")


@pytest.mark.parametrize("fault", ["cut", "stall", "half_open"])
def test_z4_a_bad_network_is_an_error_and_not_a_hang(postgres, fault):
    with Proxy(postgres.port) as proxy:
        url = f"{postgres.tcp_url(port=proxy.port)}?passfile={postgres.passfile}"
        connection = connected(url, "shop", silence_seconds=1)
        assert connection.execute("SELECT 1").fetchone() == (1,)
        getattr(proxy, fault)()
        started = time.monotonic()
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT pg_sleep(0.1)")
        assert time.monotonic() - started < 5
        connection.close()
        proxy.heal()
        with connected(url, "shop") as again:
            assert again.execute("SELECT 2").fetchone() == (2,)


@pytest.mark.parametrize("fault", ["stall", "half_open"])
def test_z4_a_server_that_does_not_work_for_us_is_not_waited_for(postgres, monkeypatch, fault):
    """Neither does it answer, nor can it be asked whether it will: not for as long as a server may work."""
    monkeypatch.setitem(connect.WATCHED, "connect_timeout", 2)
    monkeypatch.setattr(connect.Patient, "doubt_seconds", 0.3)
    with Proxy(postgres.port) as proxy:
        url = f"{postgres.tcp_url(port=proxy.port)}?passfile={postgres.passfile}"
        connection = connected(url, "shop")
        getattr(proxy, fault)()
        started = time.monotonic()
        with pytest.raises(psycopg.OperationalError, match="said nothing"):
            connection.execute("SELECT 1")
        assert time.monotonic() - started < 10
        connection.close()
        proxy.heal()


def test_z4_an_answer_that_was_lost_is_not_waited_for(postgres, monkeypatch):
    """The server answers others; it has answered this one too, but nothing arrived."""
    monkeypatch.setattr(connect.Patient, "doubt_seconds", 0.3)
    with Proxy(postgres.port) as proxy:
        url = f"{postgres.tcp_url(port=proxy.port)}?passfile={postgres.passfile}"
        connection = connected(url, "shop")
        connection.parameters = {**connection.parameters, "port": postgres.port}
        proxy.half_open()
        started = time.monotonic()
        with pytest.raises(psycopg.OperationalError, match="said nothing"):
            connection.execute("SELECT 1")
        assert time.monotonic() - started < 5
        connection.close()


def test_z4_a_server_that_works_for_us_is_waited_for(postgres, monkeypatch):
    monkeypatch.setattr(connect.Patient, "doubt_seconds", 0.1)
    monkeypatch.setattr(connect, "LATE_SECONDS", 0.1)
    with connected(postgres.url(), "shop") as connection:
        assert connection.execute("SELECT 1 FROM pg_sleep(1.5)").fetchone() == (1,)
    with (
        connected(postgres.url(), "shop", silence_seconds=1) as connection,
        pytest.raises(psycopg.OperationalError, match=r"said nothing for 1\.0 seconds"),
    ):
        connection.execute("SELECT pg_sleep(20)")


def test_z4_a_server_that_takes_no_other_connection_is_waited_for(postgres, database, monkeypatch):
    monkeypatch.setattr(connect.Patient, "doubt_seconds", 0.1)
    with psycopg.connect(database(), autocommit=True) as owner:
        name = owner.info.dbname
        owner.execute(f"CREATE ROLE one_{name} LOGIN CONNECTION LIMIT 1")
        try:
            with connected(postgres.url(name, f"one_{name}"), "shop") as connection:
                assert connection.execute("SELECT 1 FROM pg_sleep(1)").fetchone() == (1,)
        finally:
            owner.execute(f"DROP ROLE one_{name}")


def test_z4_a_slow_answer_is_no_silence(postgres):
    with connected(postgres.url(), "shop", silence_seconds=1) as connection:
        rows = connection.execute("SELECT pg_sleep(0.002) FROM generate_series(1, 300)").fetchall()
        assert len(rows) == 300


def test_a_server_that_is_not_there(postgres):
    with pytest.raises(Unreachable, match="cannot be reached"):
        connected("postgresql://u@127.0.0.1:1/d", "shop")


def test_errors_in_our_words(database):
    from rollview.sources.postgresql.connect import explained

    with (
        connected(database(), "shop") as connection,
        pytest.raises(SourceError, match="refused a query"),
        explained("shop"),
    ):
        connection.execute("SELECT 1/0")
