"""Which transactions a snapshot shows: held to what four quarrelling writers really did, at hundreds of moments.

The proof of power is in the same run: deciding by places in the WAL gives wrong rows.
"""

import random
import threading
from collections import Counter

import psycopg
import pytest
from decoded import consumed
from hypothesis import given
from hypothesis import strategies as st

from rollview.changes import Csn
from rollview.sources.postgresql.connect import connected
from rollview.sources.postgresql.snapshots import Snapshot, held, joined, parsed, patches

pytest_plugins = ["servers"]

POINTS = 600
KEYS = 40


def test_a_snapshot_is_read_from_its_text():
    assert parsed("10:20:10,14,15") == Snapshot(10, 20, frozenset({10, 14, 15}))
    assert parsed("7:7:") == Snapshot(7, 7, frozenset())


@pytest.mark.parametrize(
    ("xid", "shown"), [(9, True), (10, False), (14, False), (16, True), (20, False), (21, False)]
)
def test_n1_shown_means_begun_and_ended(xid, shown):
    assert parsed("10:20:10,14,15").shows(xid) is shown


@given(st.lists(st.booleans(), max_size=12), st.integers(0, 12))
def test_patches_lead_from_what_is_shown_to_the_time_asked(shown, at):
    """Transaction k has CSN k and id k; what is shown plus the patches is what is not later than `at`."""
    running = frozenset(k for k, seen in enumerate(shown, 1) if not seen)
    snapshot = Snapshot(1, len(shown) + 1, running)
    state = Counter({k: 1 for k, seen in enumerate(shown, 1) if seen})
    signs = patches(((Csn(k), k) for k in range(1, len(shown) + 1)), snapshot, Csn(at))
    for csn, sign in signs.items():
        state[csn] += sign
    assert {k: n for k, n in state.items() if n} == dict.fromkeys(
        range(1, min(at, len(shown)) + 1), 1
    )


class Writer(threading.Thread):
    """Writes until told to stop: savepoints, prepared transactions, rollbacks, deadlocks by chance."""

    def __init__(self, url, number, stop):
        super().__init__(daemon=True)
        self.url, self.number, self.stop = url, number, stop
        self.random = random.Random(number)
        self.done = 0
        self.problem = None

    def run(self):
        try:
            with psycopg.connect(self.url, options="-cdeadlock_timeout=5ms") as connection:
                while not self.stop.is_set():
                    try:
                        self.transaction(connection)
                    except (psycopg.errors.DeadlockDetected, psycopg.errors.UniqueViolation,
                            psycopg.errors.LockNotAvailable):  # fmt: skip
                        connection.rollback()
                    self.done += 1
        except psycopg.Error as error:
            self.problem = error

    def transaction(self, connection):
        connection.execute("SET LOCAL lock_timeout = '200ms'")
        for _ in range(self.random.randint(1, 4)):
            kind = self.random.random()
            if kind < 0.2:
                connection.execute("SAVEPOINT s")
                self.change(connection)
                if self.random.random() < 0.5:
                    connection.execute("ROLLBACK TO SAVEPOINT s")
                else:
                    connection.execute("RELEASE SAVEPOINT s")
            else:
                self.change(connection)
        how = self.random.random()
        if how < 0.1:
            connection.rollback()
        elif how < 0.25:
            name = f"p{self.number}_{self.done}"
            connection.execute(f"PREPARE TRANSACTION '{name}'")
            connection.autocommit = True
            connection.execute(f"{'COMMIT' if how < 0.22 else 'ROLLBACK'} PREPARED '{name}'")
            connection.autocommit = False
        else:
            connection.commit()

    def change(self, connection):
        table, key = self.random.choice("tu"), self.random.randint(1, KEYS)
        query = self.random.choice((
            f"INSERT INTO {table} VALUES ({key}, {self.random.randint(0, 9)}) ON CONFLICT DO NOTHING",
            f"UPDATE {table} SET v = v + 1 WHERE id = {key}",
            f"DELETE FROM {table} WHERE id = {key}",
            f"UPDATE {table} SET v = v - 1 WHERE id IN ({key}, {self.random.randint(1, KEYS)})",
        ))  # fmt: skip
        connection.execute(query)


def deadlocked(url):
    """Two transactions that each wait for the other's key: the server ends one, the other commits."""
    outcomes = []
    meet = threading.Barrier(2, timeout=30)

    def transaction(first, second):
        with psycopg.connect(url, options="-cdeadlock_timeout=5ms") as connection:
            connection.execute(f"INSERT INTO t VALUES ({first}, 0)")
            meet.wait()
            try:
                connection.execute(f"INSERT INTO t VALUES ({second}, 0)")
                outcomes.append("committed")
            except psycopg.errors.DeadlockDetected:
                connection.rollback()
                outcomes.append("deadlock")

    keys = (KEYS + 1, KEYS + 2)
    pair = [threading.Thread(target=transaction, args=k) for k in (keys, keys[::-1])]
    for thread in pair:
        thread.start()
    for thread in pair:
        thread.join(30)
    assert sorted(outcomes) == ["committed", "deadlock"]


def moments(url, count):
    """Reads at many moments: (snapshot text, place in the WAL, rows of both tables)."""
    found = []
    with connected(url, "test") as connection:
        for _ in range(count):
            with held(connection) as moment:
                place = connection.execute(
                    "SELECT (pg_current_wal_lsn() - '0/0')::bigint"
                ).fetchone()[0]
                rows = Counter()
                for table in "tu":
                    query = f"SELECT id::text, v::text FROM public.{table}"
                    rows.update((table, row) for row in connection.execute(query).fetchall())
            found.append((moment, place, rows))
    return found


def test_n1_every_patched_read_is_the_decoded_history_and_the_wal_rule_fails(database):
    url = database()
    with psycopg.connect(url, autocommit=True) as owner:
        for table in "tu":
            owner.execute(f"CREATE TABLE {table} (id int PRIMARY KEY, v int)")
            owner.execute(f"ALTER TABLE {table} REPLICA IDENTITY FULL")
        owner.execute("CREATE PUBLICATION p FOR TABLE t, u")
        slot = f"s_{owner.info.dbname}"
        owner.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", [slot])
        stop = threading.Event()
        writers = [Writer(url, n, stop) for n in range(4)]
        for writer in writers:
            writer.start()
        try:
            points = moments(url, POINTS // 2)
            deadlocked(url)
            points += moments(url, POINTS - len(points))
            while sum(w.done for w in writers) <= POINTS and all(w.is_alive() for w in writers):
                points += moments(url, 10)
        finally:
            stop.set()
            for writer in writers:
                writer.join(30)
        assert not [w.problem for w in writers if w.problem]
        history = consumed(owner, slot, "p")
        epoch = owner.execute("SELECT pg_current_xact_id()::text::bigint").fetchone()[0] >> 32
    states = [Counter()]
    for transaction in history:
        states.append(states[-1] + Counter())
        for change, count in transaction.changes.items():
            states[-1][change] += count
    states = [{k: n for k, n in state.items() if n} for state in states]
    commits = [(Csn(n), (epoch << 32) | t.xid) for n, t in enumerate(history, 1)]
    by_wal_wrong = interfering = missing = 0
    choose = random.Random(0)
    for moment, place, rows in points:
        captured = sum(t.end_lsn <= place for t in history)
        assert all(t.end_lsn <= moment.inserted for t, (_, xid) in zip(history, commits, strict=True)
                   if moment.snapshot.shows(xid)), "N2"  # fmt: skip
        for at in (
            captured,
            max(0, captured - choose.randint(1, 30)),
            choose.randint(0, len(history)),
        ):
            signs = patches(commits, moment.snapshot, Csn(at))
            interfering += -1 in signs.values()
            missing += 1 in signs.values()
            assert patched(rows, history, signs) == states[at], f"{moment.text} at {at}"
            by_wal = {n: -1 if n > at else 1 for n, t in enumerate(history, 1)
                      if (t.end_lsn <= place) != (n <= at)}  # fmt: skip
            by_wal_wrong += patched(rows, history, by_wal) != states[at]
    assert interfering > POINTS / 10 and missing > POINTS / 10
    assert by_wal_wrong, "the WAL rule was right all the time: this run proves nothing"


def patched(rows, history, signs):
    state = Counter(rows)
    for csn, sign in signs.items():
        for change, count in history[csn - 1].changes.items():
            state[change] += sign * count
    return {k: n for k, n in state.items() if n}


def test_n1_a_transaction_is_decoded_before_it_is_visible(postgres):
    """A commit that waits for a standby: the slot delivers it, no snapshot shows it, and the patch puts it in."""
    from rollview.sources.postgresql.server import Server

    with (
        Server({"synchronous_standby_names": "nobody"}) as server,
        psycopg.connect(server.url(), autocommit=True) as owner,
    ):
        owner.execute("SET synchronous_commit = local")
        owner.execute("CREATE TABLE t (id int PRIMARY KEY, v int)")
        owner.execute("CREATE PUBLICATION p FOR TABLE t")
        owner.execute("SELECT pg_create_logical_replication_slot('s', 'pgoutput')")
        waiting = psycopg.connect(server.url(), autocommit=True)
        thread = threading.Thread(target=_write_and_wait, args=[waiting])
        thread.start()
        history = []
        while not history:
            history = consumed(owner, "s", "p")
        with connected(server.url(), "test") as reader, held(reader) as moment:
            assert reader.execute("SELECT count(*) FROM public.t").fetchone() == (0,)
            assert history[0].end_lsn <= moment.inserted
            assert patches([(Csn(1), history[0].xid)], moment.snapshot, Csn(1)) == {1: +1}
        owner.execute("SELECT pg_terminate_backend(%s)", [waiting.info.backend_pid])
        thread.join(10)
        waiting.close()


def _write_and_wait(connection):
    with pytest.raises(psycopg.OperationalError):
        connection.execute("INSERT INTO t VALUES (1, 1)")


def test_n3_the_same_moment_or_none(database):
    url = database()
    with connected(url, "test") as leader, connected(url, "test") as reader:
        with psycopg.connect(url, autocommit=True) as owner:
            owner.execute("CREATE TABLE t AS SELECT 1 AS a")
            with held(leader) as moment:
                owner.execute("INSERT INTO t VALUES (2)")
                with joined(reader, moment.exported, moment.text):
                    assert reader.execute("SELECT count(*) FROM public.t").fetchone() == (1,)
        assert reader.execute("SELECT count(*) FROM public.t").fetchone() == (2,)
        with pytest.raises(psycopg.Error), joined(reader, moment.exported, moment.text):
            pass
