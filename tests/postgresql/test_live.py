"""Exact reads of live tables, held to what the servers really committed; no Spark.

The oracle is a slot of its own, decoded by hand; it shares no code with the product.
"""

import random
import threading
from collections import Counter
from contextlib import ExitStack, contextmanager

import psycopg
import pyarrow as pa
import pytest
from decoded import consumed

from rollview.calculus.probing import Askable, Edge, probe_plan
from rollview.calculus.terms import AsOf, Changes, Timed
from rollview.changes import COUNT, STAMP, Csn
from rollview.errors import ChangesLost, SourceError, Unreachable
from rollview.sources.postgresql import keys, live, probe, snapshots
from rollview.sources.postgresql.live import changes, reading
from rollview.sources.postgresql.probe import LiveInput, ProbedTerm, probed
from rollview.sources.postgresql.table import table_of
from rollview.warehouse import Warehouse

pytest_plugins = ["servers"]

TABLES = {"orders": "id int, customer int, amount numeric(9,2)", "customer": "id int, region text, name text",
          "region": "code text, label text"}  # fmt: skip
COLUMNS = {t: tuple(c.split()[0] for c in text.split(", ")) for t, text in TABLES.items()}
REGIONS = ["eu", "us", "as", 'o"d\\d', "{x,y}"]


class Shop:
    """Three tables with duplicates and NULLs, a writer, and an oracle slot."""

    def __init__(self, url):
        self.url = url
        self.owner = psycopg.connect(url, autocommit=True)
        for name, columns in TABLES.items():
            self.owner.execute(f"CREATE TABLE {name} ({columns})")
            self.owner.execute(f"ALTER TABLE {name} REPLICA IDENTITY FULL")
        self.owner.execute(f"CREATE PUBLICATION oracle FOR TABLE {', '.join(TABLES)}")
        self.slot = f"oracle_{self.owner.info.dbname}"
        self.owner.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", [self.slot])
        self.history = []

    def close(self):
        self.owner.close()

    def transact(self, connection, choose, most=4):
        with connection.transaction():
            for _ in range(choose.randint(1, most)):
                self.change(connection, choose)

    def change(self, connection, choose):
        kind, key = choose.random(), choose.randint(1, 15)
        customer = choose.choice([*range(1, 9), "NULL"])
        region = "'" + choose.choice(REGIONS) + "'"
        statements = [
            f"INSERT INTO orders VALUES ({key}, {customer}, {choose.randint(0, 99)}.5)",
            f"INSERT INTO customer VALUES ({choose.randint(1, 8)}, {region}, 'n{key}')",
            f"INSERT INTO region VALUES ({region}, 'l{choose.randint(0, 3)}')",
            f"UPDATE orders SET amount = amount + 1, customer = {customer} WHERE id = {key}",
            f"UPDATE customer SET region = {region} WHERE id = {choose.randint(1, 8)}",
            f"UPDATE region SET label = label || 'x' WHERE code = {region}",
            f"DELETE FROM orders WHERE id = {key}",
            f"DELETE FROM customer WHERE id = {choose.randint(1, 8)}",
            f"DELETE FROM region WHERE code = {region}",
        ]
        connection.execute(statements[int(kind * len(statements))])

    def state(self, wh, source, table, at):
        """The rows of a table at a CSN, by the oracle."""
        self.history += consumed(self.owner, self.slot, "oracle")
        csns = {c.xid & 0xFFFFFFFF: c.csn for c in wh.ledger.commits(Csn(0), at, source)}
        rows = Counter()
        for transaction in self.history:
            if transaction.xid in csns:
                for (name, row), count in transaction.changes.items():
                    if name == table:
                        rows[row] += count
        return {row: n for row, n in rows.items() if n}

    def writing(self, number, stop, problems):
        """A thread that writes until it is told to stop."""

        def write():
            choose = random.Random(number)
            with psycopg.connect(self.url, autocommit=True) as connection:
                while not stop.is_set():
                    try:
                        self.transact(connection, choose)
                    except psycopg.errors.DeadlockDetected:
                        continue
                    except psycopg.Error as error:
                        problems.append(error)
                        return

        return threading.Thread(target=write)


@pytest.fixture
def shop(database):
    made = Shop(database())
    yield made
    made.close()


@pytest.fixture
def wh(shop, tmp_path):
    with Warehouse(tmp_path / "wh") as wh:
        wh.add_source("shop", postgres=shop.url, tables=list(TABLES), mode="live")
        yield wh


def net(rows, columns=None):
    """Rows with signed counts as (texts) -> count; a negative one is a fault of the product."""
    names = [n for n in columns or rows.schema.names if n not in (COUNT, STAMP)]
    total = Counter()
    for row in rows.to_pylist():
        values = tuple(None if row[n] is None else str(row[n]) for n in names)
        total[values] += row[COUNT]
    return {row: n for row, n in total.items() if n}


def held(wh, source="shop", **more):
    return reading(
        wh.ledger, wh.path, source, [r.name for r in wh.ledger.relations(source)], **more
    )


@pytest.mark.parametrize("seed", range(2))
def test_e1_every_captured_time_can_be_read_now(shop, wh, seed):
    choose = random.Random(seed)
    for _ in range(6):
        for _ in range(choose.randint(0, 4)):
            shop.transact(shop.owner, choose)
        wh.capture()
    for _ in range(3):
        shop.transact(shop.owner, choose)  # nobody has captured these
    newest = wh.ledger.newest_csn()
    with held(wh) as now:
        shop.transact(shop.owner, choose)  # and the moment does not show this one
        for at in range(newest + 1):
            for table in TABLES:
                rows = now.whole(f"shop.{table}", Csn(at), COLUMNS[table])
                assert net(rows) == shop.state(wh, "shop", table, at), (table, at)


@pytest.mark.slow  # how far the writers come depends on the machine
def test_e1_reads_beside_four_writers(shop, wh):
    stop, problems = threading.Event(), []
    threads = [shop.writing(n, stop, problems) for n in range(4)]
    for thread in threads:
        thread.start()
    choose, found = random.Random(7), []
    try:
        for _ in range(12):
            wh.capture()
            newest = wh.ledger.newest_csn()
            with held(wh) as now:
                for at in {newest, Csn(choose.randint(0, newest)), Csn(max(0, newest - 3))}:
                    table = choose.choice(list(TABLES))
                    rows = now.whole(f"shop.{table}", at, COLUMNS[table])
                    found.append((table, at, net(rows)))
    finally:
        stop.set()
        for thread in threads:
            thread.join(30)
    assert not problems
    assert wh.ledger.newest_csn() > 100
    for table, at, rows in found:
        assert rows == shop.state(wh, "shop", table, at), (table, at)


# What the probes of a step read, against whole reads of the same times.

JOIN = [Edge(0, 1, (("customer", "id"),)), Edge(1, 2, (("region", "code"),))]


def step_terms(wh, sources, times, lo, hi):
    """The three terms of a step in which each table changed in (lo, hi]; the others stand at `times`."""
    tables = [f"{s}.{t}" for s, t in zip(sources, TABLES, strict=True)]
    captured = {t: table_of(wh.ledger.relation(t)) for t in tables}
    terms = []
    for changed in range(3):
        term = tuple(
            Changes(n, lo, hi) if n == changed
            else AsOf(n, times[n]) if times[n] <= lo else Timed(n, lo, times[n])
            for n in range(3)
        )  # fmt: skip
        plan = probe_plan(JOIN, term, dict(enumerate(sources)), Askable())
        inputs = {}
        for n, factor in enumerate(term):
            if n != changed:
                time = factor.at if isinstance(factor, AsOf) else factor.lo
                later = None
                if isinstance(factor, Timed):
                    later = changes(wh.ledger, wh.path, captured[tables[n]], factor.lo, factor.at)
                inputs[n] = LiveInput(tables[n], sources[n], time, COLUMNS[list(TABLES)[n]], later)
        terms.append(ProbedTerm(plan, inputs))

    def key_rows(t, i, columns):
        assert i == t, "only the changes are known beforehand"
        return changes(wh.ledger, wh.path, captured[tables[i]], lo, hi)

    return terms, key_rows


def check_probes(wh, states, sources, times, lo, hi, opening):
    """Every probed input holds exactly the rows of its time that have the keys of what it was asked by."""
    terms, key_rows = step_terms(wh, sources, times, lo, hi)
    answers, asked = probed(terms, opening, key_rows)
    names = list(TABLES)
    for t, term in enumerate(terms):
        known = {t: key_rows(t, t, ())}
        for each in term.plan.rounds:
            for p in each.probes:
                wanted = keys.keys_of(known[p.source], p.keys)
                whole = states(sources[p.input], names[p.input], term.inputs[p.input].time)
                place = [COLUMNS[names[p.input]].index(c) for c in p.columns]
                expected = {row: n for row, n in whole.items()
                            if tuple(row[k] for k in place) in {tuple(map(str, key)) for key in wanted}}  # fmt: skip
                assert net(answers[t, p.input]) == expected, (t, p)
                later = term.inputs[p.input].later
                rows = [answers[t, p.input]]
                known[p.input] = pa.concat_tables(
                    [*rows, *([later.drop_columns([STAMP])] if later is not None else [])]
                )
    return asked


@pytest.mark.parametrize("seed", range(3))
def test_r1_probes_are_exact_and_take_one_round_trip(shop, wh, seed):
    choose = random.Random(seed)
    for _ in range(40):
        shop.transact(shop.owner, choose)
    wh.capture()
    lo = wh.ledger.newest_csn()
    for _ in range(choose.randint(1, 6)):
        shop.transact(shop.owner, choose)
    wh.capture()
    hi = wh.ledger.newest_csn()
    for _ in range(5):
        shop.transact(shop.owner, choose)
    for times in ([lo, lo, lo], [lo, hi, lo], [lo, lo, hi], [hi, lo, hi]):
        asked = check_probes(wh, lambda s, t, at: shop.state(wh, s, t, at), ["shop"] * 3, times,
                             lo, hi, lambda name: held(wh, name))  # fmt: skip
        assert asked["shop"].round_trips == 1
        assert asked["shop"].rows > 0


def test_a2_two_databases_in_two_round_trips(shop, database, tmp_path):
    other = Shop(database())
    with Warehouse(tmp_path / "wh2") as wh:
        wh.add_source("shop", postgres=shop.url, tables=list(TABLES), mode="live")
        wh.add_source("other", postgres=other.url, tables=list(TABLES), mode="live")
        choose = random.Random(3)
        for n in range(60):
            each = (shop, other)[n % 2]
            each.transact(each.owner, choose)
        wh.capture()
        lo = wh.ledger.newest_csn()
        for each in (shop, other, shop, other):
            each.transact(each.owner, choose)
        wh.capture()
        hi = wh.ledger.newest_csn()
        both = {"shop": shop, "other": other}
        for each in both.values():
            each.transact(each.owner, choose)
        asked = check_probes(wh, lambda s, t, at: both[s].state(wh, s, t, at), ["shop", "other", "shop"],
                             [lo, lo, hi], lo, hi, lambda name: held(wh, name))  # fmt: skip
        assert {name: a.round_trips for name, a in asked.items()} == {"shop": 2, "other": 1}
    other.close()


@pytest.mark.parametrize("how", ["stored", "chunks", "chunks at many moments"])
def test_r3_many_keys(shop, wh, monkeypatch, how):
    monkeypatch.setattr(probe, "INLINE", 2)
    monkeypatch.setattr(probe, "CHUNK", 3)
    if how == "chunks at many moments":
        monkeypatch.setattr(live, "HOLD_SECONDS", 0.0)
    choose = random.Random(5)
    for _ in range(40):
        shop.transact(shop.owner, choose)
    wh.capture()
    lo = wh.ledger.newest_csn()
    for _ in range(12):
        shop.transact(shop.owner, choose)
    wh.capture()
    hi = wh.ledger.newest_csn()
    moments = []

    def opening(name):
        shop.transact(shop.owner, choose)  # every moment shows something that was not captured
        moments.append(name)
        return held(wh, name, many_keys=how == "stored")

    check_probes(
        wh, lambda s, t, at: shop.state(wh, s, t, at), ["shop"] * 3, [lo, hi, lo], lo, hi, opening
    )
    assert (len(moments) > 1) == (how == "chunks at many moments")


def test_a_role_that_may_make_no_tables_uses_arrays(shop, wh, postgres, monkeypatch):
    name = shop.owner.info.dbname
    shop.owner.execute(f"REVOKE TEMPORARY ON DATABASE {name} FROM PUBLIC")
    shop.owner.execute(f"CREATE ROLE r_{name} LOGIN REPLICATION")
    shop.owner.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO r_{name}")
    try:
        url = postgres.url(name, f"r_{name}")
        monkeypatch.setattr(
            live, "connected", lambda where, source, **m: live_connected(url, source, **m)
        )
        shop.owner.execute("INSERT INTO orders VALUES (1, 2, 3)")
        wh.capture()
        with held(wh, many_keys=True) as now:
            assert not now.stores_keys
            assert net(now.whole("shop.orders", Csn(1), COLUMNS["orders"])) == {
                ("1", "2", "3.00"): 1
            }
        monkeypatch.setattr(probe, "INLINE", 2)
        monkeypatch.setattr(probe, "CHUNK", 3)
        asked = check_history(shop, wh, lambda name: held(wh, name, many_keys=True))
        assert asked["shop"].keys > 6 and asked["shop"].round_trips > 2
    finally:
        shop.owner.execute(f"DROP OWNED BY r_{name}")
        shop.owner.execute(f"DROP ROLE r_{name}")


live_connected = live.connected


def check_history(shop, wh, opening, transactions=30):
    """A random history, and the probes of a step over its end."""
    choose = random.Random(5)
    for _ in range(transactions):
        shop.transact(shop.owner, choose)
    wh.capture()
    lo = wh.ledger.newest_csn()
    for _ in range(12):
        shop.transact(shop.owner, choose)
    wh.capture()
    hi = wh.ledger.newest_csn()
    shop.transact(shop.owner, choose)
    return check_probes(
        wh, lambda s, t, at: shop.state(wh, s, t, at), ["shop"] * 3, [lo, hi, lo], lo, hi, opening
    )


@pytest.fixture
def slow(monkeypatch):
    """Every row that a question finds takes 20 ms."""
    monkeypatch.setattr(live, "LEAST_SECONDS", 0.15)
    right = live.select

    def select(name, columns, condition):
        wait = live.sql.SQL("pg_sleep(0.02) IS NOT NULL")
        both = wait if condition is None else live.sql.SQL("({}) AND {}").format(condition, wait)
        return right(name, columns, both)

    monkeypatch.setattr(live, "select", select)


@pytest.mark.parametrize("how", ["inline", "stored"])
def test_e4_a_question_that_takes_too_long_is_cut(shop, wh, monkeypatch, slow, how):
    if how == "stored":
        monkeypatch.setattr(probe, "INLINE", 2)
    shop.owner.execute("CREATE INDEX ON orders (customer); CREATE INDEX ON customer (region);"
                       "CREATE INDEX ON customer (id); CREATE INDEX ON region (code)")  # fmt: skip
    wh.add_source("shop", postgres=shop.url, tables=list(TABLES), hold=0.4)
    held_for = []

    @contextmanager
    def opening(name):
        with held(wh, name, many_keys=how == "stored") as now:
            yield now
            held_for.append(now.moment.age_seconds)

    check_history(shop, wh, opening)
    assert len(held_for) > 1, "nothing took too long: this run proves nothing"
    assert max(held_for) < 0.4 + 0.3, "a question is ended, and the next one finds a new moment"


def test_e4_what_cannot_be_cut_says_which_index_is_missing(shop, wh, monkeypatch, slow):
    wh.add_source("shop", postgres=shop.url, tables=list(TABLES), hold="0.4 seconds")
    monkeypatch.setattr(live, "LEAST_SECONDS", 0.001)
    monkeypatch.setattr(live.Reading, "seconds_left", 0.03)
    with pytest.raises(SourceError, match="cannot be looked up by") as refused:
        check_history(shop, wh, lambda name: held(wh, name))
    assert "make an index on (" in refused.value.hint and "--hold" in refused.value.hint
    assert "statement timeout" in refused.value.detail


def test_e4_the_limit_is_for_the_question_only(shop, wh):
    shop.owner.execute("INSERT INTO orders VALUES (1, 1, 1)")
    wh.capture()
    with held(wh) as now:
        now.whole("shop.orders", Csn(1), COLUMNS["orders"])
        assert now.connection.execute("SHOW statement_timeout").fetchone() == ("0",)


def test_e4_a_question_that_the_owner_ends_is_not_cut(shop, wh, slow):
    """pg_cancel_backend gives the same code as a time limit."""
    shop.owner.execute("INSERT INTO orders SELECT i, 1, 1 FROM generate_series(1, 500) i")
    wh.capture()
    with pytest.raises(Unreachable, match="cannot be reached"), held(wh) as now:
        pid = now.connection.info.backend_pid
        query = "SELECT pg_cancel_backend(%s) FROM pg_stat_activity WHERE pid = %s AND wait_event = 'PgSleep'"

        def cancel():
            with psycopg.connect(shop.url, autocommit=True) as owner:
                while not owner.execute(query, [pid, pid]).fetchall():
                    pass

        thread = threading.Thread(target=cancel)
        thread.start()
        try:
            now.whole("shop.orders", Csn(1), COLUMNS["orders"])
        finally:
            thread.join()


HOLDING = """SELECT count(*) FROM pg_stat_activity
WHERE application_name = 'rollview' AND datname = current_database() AND backend_xmin IS NOT NULL"""


def test_r4_nothing_is_held_while_keys_are_computed_elsewhere(shop, wh):
    """orders -> customer on the server, then a table of a lake, then region on the server."""
    choose = random.Random(2)
    for _ in range(30):
        shop.transact(shop.owner, choose)
    shop.owner.execute("INSERT INTO orders VALUES (1, 1, 1)")
    shop.owner.execute("INSERT INTO customer VALUES (1, 'eu', 'one')")
    wh.capture()
    newest = wh.ledger.newest_csn()
    graph = [Edge(0, 1, (("customer", "id"),)), Edge(1, 2, (("region", "code"),)),
             Edge(2, 3, (("code", "code"),))]  # fmt: skip
    term = (Changes(0, Csn(0), newest), *(AsOf(n, newest) for n in (1, 2, 3)))
    plan = probe_plan(graph, term, {1: "shop", 3: "shop"}, Askable())
    assert [bool(r.through) for r in plan.rounds] == [False, True]
    inputs = {1: LiveInput("shop.customer", "shop", newest, COLUMNS["customer"]),
              3: LiveInput("shop.region", "shop", newest, COLUMNS["region"])}  # fmt: skip
    computed = []

    def key_rows(_, i, columns):
        assert shop.owner.execute(HOLDING).fetchone() == (0,)
        computed.append(i)
        if i == 0:
            return changes(
                wh.ledger, wh.path, table_of(wh.ledger.relation("shop.orders")), 0, newest
            )
        return pa.table({"code": REGIONS})

    answers, asked = probed([ProbedTerm(plan, inputs)], lambda name: held(wh, name), key_rows)
    assert computed == [0, 2] and asked["shop"].round_trips == 2
    assert net(answers[0, 3]) == shop.state(wh, "shop", "region", newest)


def test_r3_different_databases_are_asked_at_the_same_time(shop, database, tmp_path, monkeypatch):
    """Each question waits until the other database is being asked too."""
    other, meet, right = Shop(database()), threading.Barrier(2), live.Reading.fetched

    def fetched(self, queries):
        meet.wait(10)
        return right(self, queries)

    with Warehouse(tmp_path / "wh2") as wh:
        for name, each in (("shop", shop), ("other", other)):
            wh.add_source(name, postgres=each.url, tables=list(TABLES), mode="live")
            each.owner.execute("INSERT INTO region VALUES ('eu', 'Europe')")
        shop.owner.execute("INSERT INTO customer VALUES (1, 'eu', 'one')")
        wh.capture()
        newest = wh.ledger.newest_csn()
        monkeypatch.setattr(live.Reading, "fetched", fetched)
        graph = [Edge(0, 1, (("region", "code"),)), Edge(0, 2, (("region", "code"),))]
        term = (Changes(0, Csn(0), newest), AsOf(1, newest), AsOf(2, newest))
        plan = probe_plan(graph, term, {1: "shop", 2: "other"}, Askable())
        inputs = {n: LiveInput(f"{s}.region", s, newest, COLUMNS["region"])
                  for n, s in ((1, "shop"), (2, "other"))}  # fmt: skip
        customer = table_of(wh.ledger.relation("shop.customer"))
        answers, _ = probed([ProbedTerm(plan, inputs)], lambda name: held(wh, name),
                            lambda *_: changes(wh.ledger, wh.path, customer, Csn(0), newest))  # fmt: skip
        assert net(answers[0, 1]) == net(answers[0, 2]) == {("eu", "Europe"): 1}
    other.close()


def test_r3_a_table_that_nothing_leads_to(shop, wh, monkeypatch):
    """Many keys for one table, in pieces, and none for another."""
    monkeypatch.setattr(probe, "INLINE", 2)
    monkeypatch.setattr(probe, "CHUNK", 3)
    shop.owner.execute("INSERT INTO orders SELECT i, i, 1 FROM generate_series(1, 9) i")
    shop.owner.execute("INSERT INTO region VALUES (NULL, 'nowhere')")
    wh.capture()
    newest = wh.ledger.newest_csn()
    check_probes(wh, lambda s, t, at: shop.state(wh, s, t, at), ["shop"] * 3, [newest] * 3, Csn(0),
                 newest, lambda name: held(wh, name))  # fmt: skip


def test_e3_the_tables_are_locked_against_what_ignores_snapshots(shop, wh):
    shop.owner.execute("INSERT INTO orders VALUES (1, 1, 1)")
    wh.capture()
    with held(wh) as now, psycopg.connect(shop.url, autocommit=True) as other:
        other.execute("SET lock_timeout = '50ms'")
        for statement in ("TRUNCATE orders", "ALTER TABLE orders ALTER COLUMN amount TYPE text"):
            with pytest.raises(psycopg.errors.LockNotAvailable):
                other.execute(statement)
        assert now.whole("shop.orders", Csn(1), COLUMNS["orders"]).num_rows == 1


def test_what_cannot_be_patched_is_refused(shop, wh):
    shop.owner.execute("INSERT INTO orders VALUES (1, 1, 1)")
    wh.capture()
    shop.owner.execute("TRUNCATE orders")
    with pytest.raises(ChangesLost, match="TRUNCATE"), held(wh):
        pass


def test_a_table_that_was_rewritten_is_not_read(shop, wh):
    shop.owner.execute("INSERT INTO orders VALUES (1, 1, 1)")
    wh.capture()
    shop.owner.execute("ALTER TABLE orders ALTER COLUMN amount TYPE numeric(12,4)")
    with pytest.raises(SourceError), held(wh):
        pass


@pytest.mark.parametrize("before", ["verified", "_tail"])
def test_e3_somebody_captures_while_a_reader_begins(shop, wh, monkeypatch, before):
    """Readers need no lock: the server may forget what the reader still meant to read from the slot."""
    right, turns = getattr(live, before), []
    insert = "INSERT INTO customer VALUES (1, 'eu', 'name')"
    shop.owner.execute(insert)

    def late(*arguments):
        turns.append(len(turns))
        if len(turns) == 1:
            shop.owner.execute(insert)
            wh.capture()
        return right(*arguments)

    monkeypatch.setattr(live, before, late)
    with held(wh) as now:
        newest = wh.ledger.newest_csn()
        for table in TABLES:
            rows = now.whole(f"shop.{table}", newest, COLUMNS[table])
            assert net(rows) == shop.state(wh, "shop", table, newest)
    assert newest == 2


def test_a_held_moment_leaves_nothing_behind(shop, wh):
    with held(wh, many_keys=True):
        pass
    count = shop.owner.execute(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
        " AND application_name = 'rollview' AND state <> 'idle'"
    ).fetchone()[0]
    assert count == 0


# Power: without a compensation, the checks above fail.


def _no_tail(monkeypatch):
    monkeypatch.setattr(live, "_tail", lambda *_: {})


def _no_patches(monkeypatch):
    monkeypatch.setattr(live, "patches", lambda *_: {})


def _by_xmax_only(monkeypatch):
    monkeypatch.setattr(snapshots.Snapshot, "shows", lambda self, xid: xid < self.xmax)


def _no_extra_keys(monkeypatch):
    original = probe.equal_to_found
    monkeypatch.setattr(probe, "equal_to_found", lambda c, found, extra: original(c, found, []))


def _unfiltered(monkeypatch):
    monkeypatch.setattr(probe, "among", lambda rows, columns, keys: rows)


@pytest.mark.parametrize("broken", [_no_tail, _no_patches, _no_extra_keys, _unfiltered])
def test_sabotage_of_probes(shop, wh, monkeypatch, broken):
    broken(monkeypatch)
    with pytest.raises(AssertionError):
        for seed in range(20):
            test_r1_probes_are_exact_and_take_one_round_trip(shop, wh, seed)


def read_while_one_runs(shop, wh):
    """Orders at a moment at which one transaction still runs; it is captured before they are patched."""
    with psycopg.connect(shop.url) as slow:
        slow.execute("INSERT INTO orders VALUES (1, 1, 1)")
        shop.owner.execute("INSERT INTO orders VALUES (2, 2, 2)")
        with held(wh) as now:
            slow.commit()
            wh.capture()
            with live_pin(wh, now):
                rows = now.whole("shop.orders", wh.ledger.newest_csn(), COLUMNS["orders"])
    return rows


def test_sabotage_of_visibility(shop, wh, monkeypatch):
    """A transaction that runs while the moment is taken, and is captured later, is not shown."""
    _by_xmax_only(monkeypatch)
    rows = read_while_one_runs(shop, wh)
    assert net(rows) != shop.state(wh, "shop", "orders", wh.ledger.newest_csn())


def live_pin(wh, now):
    """Let a moment that is held know what was captured meanwhile."""
    fresh = live._pin(wh.ledger, wh.path, "shop", list(now.pinned.tables))
    now.pinned, now.tail = fresh, {}
    return ExitStack()


def test_a_transaction_that_ran_while_the_moment_was_taken_is_put_in(shop, wh):
    rows = read_while_one_runs(shop, wh)
    assert net(rows) == shop.state(wh, "shop", "orders", wh.ledger.newest_csn())
