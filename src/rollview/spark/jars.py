"""The Delta Lake jars: fetched once, checked against sums in the repository, used by path.

J1  No jar is handed to Spark unless its sha256 is the one in jars.sha256.
J2  With the cache filled, nothing here touches the network.
Spark brings most of what Delta Lake needs, in newer versions; ARTIFACTS is the rest. They are
fetched by the Ivy that is among Spark's own jars, whose default is Maven Central.
Knows no session. `python -m rollview.spark.jars` fills the cache and prints its folder.
"""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rollview.errors import ConfigError

VERSION = "4.4.0"
"""The version of Delta Lake; pyproject.toml bounds the Python package to the same one."""

Artifact = tuple[str, str, str]
"""Organisation, name, version."""
ARTIFACTS: Sequence[Artifact] = (
    ("io.delta", "delta-spark_4.2_2.13", VERSION),
    ("io.delta", "delta-storage", VERSION),
    ("io.delta", "delta-kernel-api", VERSION),
    ("io.delta", "delta-kernel-defaults", VERSION),
    ("io.delta", "delta-kernel-unitycatalog", VERSION),
    ("io.unitycatalog", "unitycatalog-client", "0.6.0"),
    ("io.unitycatalog", "unitycatalog-hadoop", "0.6.0"),
    ("com.fasterxml.jackson.datatype", "jackson-datatype-jdk8", "2.13.5"),
)
FETCH_SECONDS = 900

log = logging.getLogger(__name__)


def jar_paths() -> list[Path]:
    """The jars to start a session with, verified (J1); fetched first if the cache lacks any."""
    folder = cache_folder()
    if unverified(folder):
        log.warning("fetching Delta Lake %s into %s (once, about 14 MB)", VERSION, folder)
        fetch(folder)
    return [folder / name for name in checksums()]


def cache_folder() -> Path:
    """Where the jars are kept, shared by every project of the user."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "rollview" / "jars" / VERSION


def checksums() -> dict[str, str]:
    """File name -> sha256, in the order of jars.sha256 (the format of sha256sum)."""
    lines = Path(__file__).with_name("jars.sha256").read_text("utf-8").splitlines()
    return {name: digest for digest, name in (line.split() for line in lines)}


def unverified(folder: Path) -> list[str]:
    """The names of the jars that `folder` lacks or holds with other content."""
    return [name for name, digest in checksums().items() if sha256(folder / name) != digest]


def sha256(path: Path) -> str | None:
    """The digest of a file, None if it cannot be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None


def fetch(folder: Path) -> None:
    """Fill `folder`; only verified jars get there, each by one atomic rename."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder) as scratch:
            report = retrieve(Path(scratch))
            wrong = unverified(Path(scratch))
            if wrong:
                raise refusal(Path(scratch), wrong, report)
            for name in checksums():
                os.replace(Path(scratch) / name, folder / name)
    except OSError as error:
        raise ConfigError(
            f'cannot write the Delta Lake jars to "{folder}"',
            str(error),
            "set XDG_CACHE_HOME to a folder that can be written to",
        ) from error


def refusal(scratch: Path, wrong: list[str], report: str) -> ConfigError:
    """Why the fetched jars cannot be used: some did not come, or came with other content."""
    changed = [name for name in wrong if (scratch / name).exists()]
    if changed:
        return ConfigError(
            f"fetched jars are not the expected ones: {', '.join(changed)}",
            "their sha256 sums differ from those that rollview was tested with",
            "look for a proxy or mirror that alters files, then try again",
        )
    problems = [line.strip() for line in report.splitlines() if "Exception" in line]
    return ConfigError(
        f"cannot fetch the Delta Lake {VERSION} jars from Maven Central",
        problems[0] if problems else f"missing: {', '.join(wrong)}",
        "connect to the network once; behind a proxy, set JAVA_TOOL_OPTIONS to"
        " -Dhttps.proxyHost=... -Dhttps.proxyPort=...",
    )


def retrieve(scratch: Path, artifacts: Sequence[Artifact] = ARTIFACTS) -> str:
    """Run Ivy, which leaves in `scratch` what it could get; what Ivy printed."""
    wanted = scratch / "ivy.xml"
    wanted.write_text(ivy_module(artifacts), "utf-8")
    command = [
        java(), f"-Divy.default.ivy.user.dir={scratch / 'ivy'}", "-cp", f"{spark_jars()}/*",
        "org.apache.ivy.Main", "-ivy", str(wanted), "-cache", str(scratch / "cache"),
        "-retrieve", f"{scratch}/[artifact]-[revision].[ext]",
    ]  # fmt: skip
    try:
        done = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=FETCH_SECONDS,
            check=False,  # Ivy's exit code says less than the sums do
        )
    except subprocess.TimeoutExpired:
        return f"Exception: no answer within {FETCH_SECONDS} seconds"
    return done.stdout


def ivy_module(artifacts: Sequence[Artifact]) -> str:
    """A module, in Ivy's language, that needs the artifacts and nothing that those need."""
    dependencies = "".join(
        f'<dependency org="{org}" name="{name}" rev="{rev}" transitive="false"'
        ' conf="default->master"/>'
        for org, name, rev in artifacts
    )
    return (
        '<ivy-module version="2.0"><info organisation="rollview" module="jars"/>'
        f"<dependencies>{dependencies}</dependencies></ivy-module>"
    )


def spark_jars() -> Path:
    """The folder of Spark's own jars, found without importing pyspark."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or not spec.submodule_search_locations:
        raise ConfigError("pyspark is not installed", hint="pip install rollview")
    return Path(spec.submodule_search_locations[0]) / "jars"


def java() -> str:
    """The java command that Spark would take: JAVA_HOME first, then the path."""
    home = os.environ.get("JAVA_HOME")
    command = shutil.which(str(Path(home) / "bin" / "java") if home else "java")
    if command is None:
        place = f'in JAVA_HOME "{home}"' if home else "on the path"
        raise ConfigError(
            f"there is no java {place}", hint="install Java 17 or newer, or correct JAVA_HOME"
        )
    return command


def main() -> int:
    """Fill the cache if needed, print its folder."""
    logging.basicConfig(format="%(message)s")
    try:
        paths = jar_paths()
    except ConfigError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(f"{paths[0].parent}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
