"""Connections to somebody else's PostgreSQL server: pinned settings, no secrets kept, no endless waiting.

Z1  Whatever a role or database has set, values come as types.py reads them: UTC, ISO dates, all digits, hexadecimal.
Z2  What the ledger keeps of a connection is a reference without a secret: a URL without a password (libpq finds it in
    PGPASSWORD or a passfile), `env:NAME`, or `file:PATH` of a file that only its owner can read. It is resolved
    anew for each connection. No error shows a password.
Z3  The server is verified (sslmode=verify-full) unless it is local or the user says otherwise.
Z4  A server that is silent for too long is an error: a stalled connection does not hang the caller. Whoever hears
    nothing asks by another connection whether the server is still at work for it; if not, the wait ends at once.
"""

from __future__ import annotations

import ipaddress
import os
import re
import selectors
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from psycopg.abc import RV, PQGen
from psycopg.conninfo import conninfo_to_dict

from rollview.errors import ConfigError, RollviewError, SourceError, Unreachable

Connection = psycopg.Connection[tuple[Any, ...]]

PINNED: Mapping[str, str] = {
    "TimeZone": "UTC",
    "DateStyle": "ISO,YMD",
    "IntervalStyle": "iso_8601",
    "extra_float_digits": "3",
    "bytea_output": "hex",
    "client_encoding": "UTF8",
    "standard_conforming_strings": "on",
    "search_path": "pg_catalog",
    "row_security": "off",
    "default_transaction_read_only": "on",
    "lock_timeout": "10s",
    "statement_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
    "jit": "off",
}
WATCHED: Mapping[str, Any] = {
    "connect_timeout": 10,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
    "application_name": "rollview",
}
SILENCE_SECONDS = 600.0
"""How long a server may say nothing while it works: a large transaction is decoded before its first change is sent."""
DOUBT_SECONDS = 15.0
"""After how much silence a server is asked whether it works; what `connect_timeout` is added to, at most."""
LATE_SECONDS = 1.0
"""How long an answer may be on its way."""
WORKING = "SELECT state = 'active' FROM pg_stat_activity WHERE pid = %s"

URL = re.compile(r"postgres(ql)?://", re.IGNORECASE)


class Patient(psycopg.Connection[tuple[Any, ...]]):
    """A connection whose waits end (Z4); `parameters` lead to the same server again."""

    silence_seconds = SILENCE_SECONDS
    doubt_seconds = DOUBT_SECONDS
    parameters: Mapping[str, Any] | None = None

    def wait(self, gen: PQGen[RV], interval: float = 0, timeout: float | None = None) -> RV:
        """Drive a generator of psycopg until it is done, or until the server was silent for too long."""
        limit = self.silence_seconds if timeout is None else min(timeout, self.silence_seconds)
        try:
            wanted = next(gen)
            with selectors.DefaultSelector() as selector:
                while True:
                    selector.register(self.fileno(), wanted)
                    ready = self._heard(selector, limit)
                    selector.unregister(self.fileno())
                    wanted = gen.send(ready)
        except StopIteration as end:
            done: RV = end.value
            return done
        except KeyboardInterrupt:
            self.cancel_safe(timeout=5)
            self.close()
            raise

    def _heard(self, selector: selectors.BaseSelector, limit: float) -> int:
        """What there is to do, once there is something; ends the connection if the server does not work for it."""
        until = time.monotonic() + limit
        while True:
            wait = min(until - time.monotonic(), self.doubt_seconds)
            found = selector.select(max(0.0, wait))
            left = until - time.monotonic()
            if not found and left > 0:
                if self._works():
                    continue
                found = selector.select(min(left, LATE_SECONDS))
            if found:
                return found[0][1]
            self.close()
            waited = limit - max(0.0, until - time.monotonic())
            raise psycopg.OperationalError(f"the server said nothing for {waited:.1f} seconds")

    def _works(self) -> bool:
        """The server says, by another connection, that it works for this one; or that it takes no other one."""
        if self.parameters is None:
            return True
        try:
            other = Patient.connect(**self.parameters, autocommit=True)
        except psycopg.errors.ConnectionTimeout:
            return False
        except psycopg.Error:
            return True  # whoever refuses is there: the role may have so many connections only
        other.silence_seconds = self.doubt_seconds
        try:
            with other:
                return other.execute(WORKING, [self.info.backend_pid]).fetchone() == (True,)
        except psycopg.Error:
            return False


def connected(
    where: str,
    source: str,
    *,
    replication: bool = False,
    writes: bool = False,
    silence_seconds: float = SILENCE_SECONDS,
) -> Connection:
    """An autocommit connection to the database of `source`, read-only unless it `writes`.

    With `replication` it speaks that protocol.
    """
    parameters = resolved(where)
    pinned = {**PINNED, **({"default_transaction_read_only": "off"} if writes else {})}
    own = " ".join(f"-c {name}={value}" for name, value in pinned.items())
    parameters["options"] = f"{parameters.get('options') or ''} {own}".strip()
    if replication:
        parameters["replication"] = "database"
    parameters = {**WATCHED, **parameters}
    with explained(source, parameters.get("password")):
        connection = Patient.connect(**parameters, autocommit=True)
    connection.silence_seconds = silence_seconds
    connection.parameters = {k: v for k, v in parameters.items() if k != "replication"}
    return connection


def resolved(where: str) -> dict[str, Any]:
    """The connection parameters that a reference leads to (Z2, Z3)."""
    kind, _, name = where.partition(":")
    if kind == "env":
        text = os.environ.get(name)
        if not text:
            raise ConfigError(
                f'the environment variable "{name}" is not set',
                "it should hold the URL of a PostgreSQL database",
                f"export {name}=postgresql://…",
            )
        parameters = _parsed(text, where)
    elif kind == "file":
        parameters = _parsed(_private_text(Path(name)), where)
    else:
        parameters = _parsed(where, "the URL")
        if parameters.get("password") or parameters.get("sslpassword"):
            raise ConfigError(
                "a password cannot be part of a source's URL",
                "it would be seen in the ledger, in shell histories and in the list of processes",
                "leave it out and use PGPASSWORD or a passfile, or write the whole URL into an "
                "environment variable (env:NAME) or into a file with mode 0600 (file:PATH)",
            )
    if "sslmode" not in parameters and "PGSSLMODE" not in os.environ and not is_local(parameters):
        parameters["sslmode"] = "verify-full"
        if "sslrootcert" not in parameters and "PGSSLROOTCERT" not in os.environ:
            own = Path.home() / ".postgresql" / "root.crt"
            parameters["sslrootcert"] = str(own) if own.exists() else "system"
    return parameters


def _parsed(text: str, name: str) -> dict[str, Any]:
    problem = ConfigError(
        f"{name} is not the URL of a PostgreSQL database",
        hint="write postgresql://user@host:5432/database",
    )
    if not URL.match(text):
        raise problem
    try:
        return dict(conninfo_to_dict(text.strip()))
    except psycopg.Error:
        raise problem from None  # the parser's own message would show the password (Z2)


def _private_text(path: Path) -> str:
    """The contents of a file that nobody but its owner can read."""
    try:
        mode = path.stat().st_mode
        if stat.S_IMODE(mode) & 0o077:
            raise ConfigError(
                f'"{path}" can be read by others', "it holds a password", f"chmod 600 {path}"
            )
        return path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f'"{path}" cannot be read', str(error)) from None


def is_local(parameters: Mapping[str, Any]) -> bool:
    """The server is on this machine: a socket or loopback, each host of several."""
    hosts = (
        parameters.get("hostaddr")
        or parameters.get("host")
        or os.environ.get("PGHOSTADDR")
        or os.environ.get("PGHOST")
    )
    if not hosts:
        return not (parameters.get("service") or os.environ.get("PGSERVICE"))
    return all(_is_local(host) for host in str(hosts).split(","))


def _is_local(host: str) -> bool:
    if host.startswith(("/", "@")) or host in ("", "localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@contextmanager
def explained(source: str, secret: str | None = None) -> Iterator[None]:
    """Turn what the server says into an error that names the source and says what to do."""
    try:
        yield
    except psycopg.Error as error:
        raise problem(source, error, secret) from None


def problem(source: str, error: psycopg.Error, secret: str | None = None) -> RollviewError:
    """The server's error in rollview's words, without the password."""
    said = str(error).strip()
    if secret:
        said = said.replace(secret, "***")
    state = error.sqlstate or ""
    if state.startswith("28") or "password" in said:
        return Unreachable(
            f'the database of source "{source}" lets nobody in', said,
            "check the user, and the password in PGPASSWORD, the passfile or the file it is in",
        )  # fmt: skip
    if state == "42501":
        return SourceError(
            f'the role of source "{source}" may not do this', said,
            f"rollview source check {source} prints the SQL that mends it",
        )  # fmt: skip
    if not state or state[:2] in ("08", "53", "57") or isinstance(error, psycopg.OperationalError):
        return Unreachable(
            f'the database of source "{source}" cannot be reached', said,
            "nothing was half done: try again when the server answers",
        )  # fmt: skip
    return SourceError(f'the database of source "{source}" refused a query', said)
