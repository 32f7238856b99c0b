"""The check-list finds what is in the way, and the SQL that it prints mends it (M2)."""

import psycopg
import pytest
from psycopg import sql

from rollview.sources.postgresql import checklist as checking
from rollview.sources.postgresql import roles
from rollview.sources.postgresql.checklist import checklist
from rollview.sources.postgresql.connect import connected
from rollview.sources.postgresql.health import duration, health, size
from rollview.sources.postgresql.server import Server

pytest_plugins = ["servers"]

TABLES = [("public", "orders"), ("odd schema", 'or"der')]


class World:
    """A database with two tables, its owner, and a role for rollview."""

    def __init__(self, postgres, url):
        self.owner = psycopg.connect(url, autocommit=True)
        self.name = self.owner.info.dbname
        self.role = f"role_{self.name}"
        self.publication = f"rollview_{self.name}"
        self.run('CREATE TABLE orders (id int PRIMARY KEY, v text)', 'CREATE SCHEMA "odd schema"',
                 'CREATE TABLE "odd schema"."or""der" (id int)')  # fmt: skip
        self.run(*roles.owner_sql(self.name, TABLES, self.publication, self.role))
        self.url = postgres.url(self.name, self.role)

    def run(self, *statements):
        for statement in statements:
            for part in filter(str.strip, statement.split("\n")):
                self.owner.execute(sql.SQL(part))

    def points(self, tables=TABLES, state=None):
        with connected(self.url, "shop") as connection:
            found = checklist(connection, tables, self.publication, f"rollview_{self.name}")
        return [p for p in found if state is None or p.state == state]

    def close(self):
        self.run(f"DROP PUBLICATION IF EXISTS {roles.quoted(self.publication)}",
                 f"DROP OWNED BY {roles.quoted(self.role)}")  # fmt: skip
        self.owner.close()


@pytest.fixture
def world(postgres, database):
    made = World(postgres, database())
    yield made
    made.close()
    with psycopg.connect(postgres.url(), autocommit=True) as owner:
        owner.execute(f"DROP OWNED BY {roles.quoted(made.role)}")
        owner.execute(f"DROP ROLE {roles.quoted(made.role)}")


def test_the_owners_script_leaves_nothing_to_do(world):
    assert world.points(state="bad") == []
    subjects = {p.subject for p in world.points()}
    assert {"wal_level", "max_replication_slots", "max_wal_senders", "role", "long transactions",
            "max_slot_wal_keep_size", "table public.orders", "version"} <= subjects  # fmt: skip


def test_the_runtime_role_reads_and_writes_nothing(world):
    with psycopg.connect(world.url, autocommit=True) as runtime:
        assert runtime.execute("SELECT count(*) FROM public.orders").fetchone() == (0,)
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            runtime.execute("INSERT INTO public.orders VALUES (1, 'x')")
        runtime.execute("SET default_transaction_read_only = off")
        for statement in ("INSERT INTO public.orders VALUES (1, 'x')", "CREATE TABLE public.mine (a int)",
                          "ALTER TABLE public.orders REPLICA IDENTITY DEFAULT"):  # fmt: skip
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                runtime.execute(statement)


BROKEN = {
    "identity": ("ALTER TABLE orders REPLICA IDENTITY DEFAULT", "before a change are not in the WAL"),
    "nothing": ("ALTER TABLE orders REPLICA IDENTITY NOTHING", "before a change are not in the WAL"),
    "unlogged": ("ALTER PUBLICATION {publication} DROP TABLE orders;\nALTER TABLE orders SET UNLOGGED",
                 "unlogged"),
    "select": ("REVOKE SELECT ON orders FROM {role}", "may not read it"),
    "usage": ('REVOKE USAGE ON SCHEMA "odd schema" FROM {role}', "may not use its schema"),
    "replication": ("ALTER ROLE {role} NOREPLICATION", "may not read the stream"),
    "row security": ("ALTER TABLE orders ENABLE ROW LEVEL SECURITY", "row security hides"),
    "case": ('ALTER TABLE orders ADD COLUMN "V" int', "differ only by case"),
    "reserved": ('ALTER TABLE orders ADD COLUMN "_rv_x" int', "needs names that begin so"),
    "kinds": ("ALTER PUBLICATION {publication} SET (publish = 'insert')", "leaves out a kind"),
    "root": ("ALTER PUBLICATION {publication} SET (publish_via_partition_root = true)", "as their root"),
    "not published": ("ALTER PUBLICATION {publication} DROP TABLE orders", "public.orders is not in it"),
    "some rows": ("ALTER PUBLICATION {publication} SET TABLE orders WHERE (id > 3), \"odd schema\".\"or\"\"der\"",
                  "only some rows of public.orders"),
    "some columns": ("ALTER PUBLICATION {publication} SET TABLE orders (id), \"odd schema\".\"or\"\"der\"",
                     "only some columns of public.orders"),
    "no publication": ("DROP PUBLICATION {publication}", "it is not there"),
}  # fmt: skip


@pytest.mark.parametrize("what", BROKEN)
def test_m2_what_is_broken_is_found_and_mended(world, what):
    statement, said = BROKEN[what]
    names = {"role": roles.quoted(world.role), "publication": roles.quoted(world.publication)}
    world.run(statement.format(**names))
    bad = world.points(state="bad")
    assert any(said in p.text for p in bad), bad
    for point in bad:
        assert point.mend, point
        world.run(point.mend)
    assert world.points(state="bad") == []


def test_partitions_are_mended_one_by_one(world):
    world.run("CREATE TABLE parts (id int, k int) PARTITION BY LIST (k)",
              "CREATE TABLE part1 PARTITION OF parts FOR VALUES IN (1)",
              "CREATE TABLE part2 PARTITION OF parts FOR VALUES IN (2)",
              f"GRANT SELECT ON parts TO {roles.quoted(world.role)}",
              f"ALTER PUBLICATION {roles.quoted(world.publication)} ADD TABLE parts")  # fmt: skip
    tables = [("public", "parts")]
    (bad,) = world.points(tables, "bad")
    assert "of 2 partitions" in bad.text
    assert len(bad.mend.splitlines()) == 2
    world.run(bad.mend)
    assert world.points(tables, "bad") == []
    assert "name the table that it is a part of" in str(world.points([("public", "part1")], "bad"))


def test_what_cannot_be_captured_is_said(world):
    world.run("CREATE VIEW some_view AS SELECT 1 AS a", "CREATE TABLE parent (a int)",
              "CREATE TABLE child () INHERITS (parent)",
              "ALTER TABLE orders ADD COLUMN g int GENERATED ALWAYS AS (id + 1) STORED")  # fmt: skip
    said = " / ".join(p.text for p in world.points(
        [("public", t) for t in ("some_view", "parent", "nowhere", "orders")]))  # fmt: skip
    for part in ("it is a view", "inherit from it", "it is not there", '"g" is generated'):
        assert part in said


def test_collations_in_which_texts_are_equal(world):
    try:
        world.run(
            "CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
        )
    except psycopg.Error:
        pytest.skip("this server has no ICU")
    world.run('ALTER TABLE orders ADD COLUMN c text COLLATE "loose"')
    (bad,) = world.points(state="bad")
    assert 'collation "loose"' in bad.text
    world.run(bad.mend)
    assert world.points(state="bad") == []


def test_long_transactions_are_named_by_process(postgres, world, monkeypatch):
    monkeypatch.setattr("rollview.sources.postgresql.checklist.LONG_SECONDS", 0.0)
    with psycopg.connect(url := postgres.url(world.name)) as writer:
        writer.execute("INSERT INTO orders VALUES (1, 'x')")
        with connected(url, "shop") as connection:
            found = checklist(connection, TABLES, world.publication, "s")
        (point,) = [p for p in found if p.subject == "long transactions"]
        assert f"process {writer.info.backend_pid}" in point.text
        assert str(writer.info.backend_pid) in point.mend
        writer.rollback()


def test_a_server_that_does_not_decode():
    with Server(
        {"wal_level": "replica", "max_replication_slots": "0", "max_slot_wal_keep_size": "64MB"}
    ) as server:
        with connected(server.url(), "shop") as connection:
            found = checklist(connection, [], "p", "s")
        states = {p.subject: p for p in found}
        assert states["wal_level"].state == "bad" and "ALTER SYSTEM" in states["wal_level"].mend
        assert states["max_replication_slots"].state == "bad"
        assert "64 MB" in states["max_slot_wal_keep_size"].text
        assert states["role"].state == "look"  # a superuser


def test_an_old_server_is_refused(postgres, monkeypatch):
    with connected(postgres.url(), "shop") as connection:
        version = connection.info.server_version
        monkeypatch.setattr(checking, "OLDEST_VERSION", version + 10000)
        point = next(p for p in checklist(connection, [], "p", "s") if p.subject == "version")
    assert point.state == "bad" and f"{version // 10000 + 1} is the oldest" in point.text


def test_doctor_names_orphans_lag_and_what_is_lost():
    with Server(
        {"max_slot_wal_keep_size": "32MB", "max_wal_size": "32MB", "min_wal_size": "32MB"}
    ) as server:
        owner = psycopg.connect(server.url(), autocommit=True)
        owner.execute("CREATE TABLE t (a text)")
        for name in ("rollview_a", "rollview_b", "theirs"):
            owner.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", [name])
            owner.execute(f"CREATE PUBLICATION {name} FOR TABLE t")

        def points():
            with connected(server.url(), "shop") as connection:
                found = health(connection, {"rollview_a", "rollview_c"}, {"rollview_a"})
                return {p.subject: p for p in found}

        found = points()
        assert set(found) == {
            "slot rollview_a",
            "slot rollview_b",
            "slot rollview_c",
            "publication rollview_b",
        }
        assert found["slot rollview_a"].state == "ok"
        assert "the server drops it after" in found["slot rollview_a"].text
        assert found["slot rollview_b"].state == "look"
        assert found["slot rollview_c"].state == "bad"
        for _ in range(2):
            owner.execute("INSERT INTO t SELECT repeat('x', 1000) FROM generate_series(1, 15000)")
        assert points()["slot rollview_a"].state == "look"
        for _ in range(12):
            owner.execute("INSERT INTO t SELECT repeat('x', 1000) FROM generate_series(1, 15000)")
            owner.execute("SELECT pg_switch_wal()")
            owner.execute("CHECKPOINT")
        assert "changes are lost" in points()["slot rollview_a"].text
        owner.execute(found["slot rollview_b"].mend)
        owner.execute(found["publication rollview_b"].mend)
        assert "slot rollview_b" not in points()
        owner.close()


def test_words_for_sizes_and_durations():
    assert [size(n) for n in (0, 1023, 1 << 20, 5 << 30)] == [
        "0 bytes",
        "1,023 bytes",
        "1.0 MiB",
        "5.0 GiB",
    ]
    assert [duration(n) for n in (5, 600, 7200, 500000)] == [
        "5 seconds",
        "10 minutes",
        "2 hours",
        "6 days",
    ]


def test_everything_can_be_taken_back(world):
    slot = f"rollview_{world.name}"
    world.owner.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", [slot])
    script = roles.removal_sql(world.name, TABLES, world.publication, slot, world.role)
    world.run(*script[:-1])
    assert world.owner.execute("SELECT count(*) FROM pg_replication_slots WHERE slot_name = %s",
                               [slot]).fetchone() == (0,)  # fmt: skip
