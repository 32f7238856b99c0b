"""rollview doctor: is the warehouse sound, and what needs attention? Starts no JVM and changes nothing."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click
from rich.text import Text

from rollview.cli.place import Place, found_project, place_options
from rollview.cli.printing import BAD, GOOD, counted, json_option, print_json, stdout
from rollview.cli.project import view_files
from rollview.config import Project
from rollview.errors import ConfigError, RollviewError
from rollview.ledger import schema
from rollview.ledger.lock import holder
from rollview.ledger.rows import FOLDERS, READS
from rollview.ledger.store import Ledger
from rollview.spark.jars import VERSION, cache_folder, java, unverified

LEAST_FREE = 1 << 30
OLDEST_JAVA = 17


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at; `ok` is False if it needs attention."""

    ok: bool
    subject: str
    text: str
    hint: str = ""


@click.command()
@json_option
@place_options()
@click.pass_context
def doctor(ctx: click.Context, as_json: bool) -> None:
    """Check the machine and the warehouse, without Spark.

    Java, jars, disk, ledger, lock, files, work that was interrupted, what stopped and why. Exit code 1 if something
    needs attention. JSON: a list with ok, subject, text, hint.

    \b
    Example:
      rollview doctor
    """
    findings = [*_machine(), *_project(ctx.ensure_object(Place))]
    if as_json:
        print_json(findings)
    else:
        _print(findings)
    if not all(f.ok for f in findings):
        ctx.exit(1)


def _print(findings: list[Finding]) -> None:
    console = stdout()
    for f in findings:
        mark = Text("ok   ", GOOD) if f.ok else Text("look ", f"bold {BAD}")
        text = f.text.replace("\n", "\n     ")
        console.print(Text.assemble(mark, (f.subject, "bold"), f": {text}"), soft_wrap=True)
        if f.hint:
            console.print(Text.assemble("     ", ("hint: ", "cyan"), f.hint), soft_wrap=True)
    wrong = sum(not f.ok for f in findings)
    console.print(
        Text(f"{counted(wrong, 'finding')} to look at" if wrong else "all is well", "bold")
    )


def _machine() -> Iterator[Finding]:
    try:
        command = Path(java()).resolve()
        version = java_version(command)
        if version is not None and version < OLDEST_JAVA:
            yield Finding(
                False,
                "Java",
                f"{command} is Java {version}",
                f"install Java {OLDEST_JAVA} or newer",
            )
        else:
            yield Finding(True, "Java", f"{command}" + (f", version {version}" if version else ""))
    except ConfigError as error:
        yield _failed("Java", error)
    missing = unverified(cache_folder())
    if missing:
        yield Finding(False, "jars", f"{len(missing)} of the Delta Lake {VERSION} jars are not in {cache_folder()}",
                      "they are fetched when Spark is first started; make setup fetches them now")  # fmt: skip
    else:
        yield Finding(True, "jars", f"Delta Lake {VERSION}, all sums as they should be")


def java_version(command: Path) -> int | None:
    """The version of a Java installation, by its release file; None if it has none."""
    try:
        release = (command.parent.parent / "release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    found = re.search(r'JAVA_VERSION="(?:1\.)?(\d+)', release)
    return int(found.group(1)) if found else None


def _failed(subject: str, error: RollviewError) -> Finding:
    return Finding(False, subject, ": ".join(filter(None, [error.what, error.detail])), error.hint)


def _project(place: Place) -> Iterator[Finding]:
    try:
        project = found_project(place)
        yield Finding(True, "project", str(project.folder))
        if not project.warehouse.exists():
            yield Finding(True, "warehouse", f"{project.warehouse} is not made yet")
            return
        ledger = Ledger.open(project.warehouse, project.ledger_url)
    except RollviewError as error:
        yield _failed("project" if isinstance(error, ConfigError) else "ledger", error)
        return
    try:
        yield _disk(project.warehouse)
        yield _integrity(ledger)
        yield from _contents(project, ledger)
    except RollviewError as error:
        yield _failed("ledger", error)
    finally:
        ledger.close()


def _disk(warehouse: Path) -> Finding:
    free = shutil.disk_usage(warehouse).free
    text = f"{free / (1 << 30):.1f} GiB free"
    return Finding(
        free >= LEAST_FREE,
        "disk",
        text,
        "" if free >= LEAST_FREE else "make space before the next refresh",
    )


def _integrity(ledger: Ledger) -> Finding:
    version = schema.newest_version()
    if ledger.engine.dialect.name != "sqlite":
        return Finding(True, "ledger", f"{ledger.name}, schema version {version}")
    from rollview.ledger.engine import explained

    with explained(ledger.name), ledger.engine.connect() as connection:
        found = connection.exec_driver_sql("PRAGMA integrity_check").scalars().all()
        broken = connection.exec_driver_sql("PRAGMA foreign_key_check").all()
    if list(found) != ["ok"] or broken:
        text = (
            "; ".join(str(f) for f in found[:3])
            if list(found) != ["ok"]
            else f"broken references: {broken[:3]}"
        )
        return Finding(False, "ledger", f"{ledger.name}: {text}", "restore it from a backup")
    return Finding(
        True,
        "ledger",
        f"sound, schema version {version}, {ledger.newest_csn()} transactions captured",
    )


def _contents(project: Project, ledger: Ledger) -> Iterator[Finding]:
    writer = holder(project.warehouse, ledger)
    yield Finding(True, "lock", f"{writer} writes" if writer else "nobody writes")
    yield from _intents(ledger, writer is not None)
    yield from _orphans(project.warehouse, ledger)
    yield from _servers(ledger)
    for r in ledger.relations():
        if r.stopped:
            yield Finding(False, f"table {r.name}", f"stopped: {r.stopped}")
    for v in ledger.views():
        if v.state == "stopped":
            yield Finding(False, f"view {v.name}", f"stopped: {v.reason}")
    yield _files(project, ledger)


def _servers(ledger: Ledger) -> Iterator[Finding]:
    """Slots and publications of PostgreSQL sources: orphans, lag, how long they have."""
    from rollview.cli.servers import server_points

    for point in server_points(ledger):
        if isinstance(point, RollviewError):
            yield _failed("server", point)
        else:
            yield Finding(point.state == "ok", point.subject, point.text, point.mend)


def _intents(ledger: Ledger, written: bool) -> Iterator[Finding]:
    """What was begun and not ended; while nobody writes, it was left behind."""
    left = ledger.intents()
    if written or not left:
        yield Finding(True, "work in hand", counted(len(left), "piece") if left else "none")
        return
    for intent in left:
        hint = (f"rollview refresh {intent.subject} goes on with it" if intent.kind == "build"
                else "the next command that writes settles it")  # fmt: skip
        yield Finding(
            False, "work in hand", f'a {intent.kind} of "{intent.subject}" was interrupted', hint
        )


def _orphans(warehouse: Path, ledger: Ledger) -> Iterator[Finding]:
    found = orphans(warehouse, ledger)
    waiting = ledger.trash()
    text = f"every folder is known; {counted(len(waiting), 'folder')} to be swept up"
    if found:
        yield Finding(False, "files", f"{counted(len(found), 'folder')} that nothing names: {', '.join(found[:5])}",
                      "they can be deleted while no rollview writes")  # fmt: skip
    else:
        yield Finding(True, "files", text)


def orphans(warehouse: Path, ledger: Ledger) -> list[str]:
    """Folders of views and captured tables that neither the ledger nor its trash names, relative to the warehouse."""
    with ledger.snapshot():
        rows = [b for v in ledger.views() for b in ledger.blocks(v.name)]
        rows += [b for r in ledger.relations() if (b := ledger.block(r.name)) is not None]
        blocks = {b.folder for b in rows}
        steps = {s.folder for b in rows for s in ledger.steps(b.name)}
        trash = {folder for folder, _ in ledger.trash()}
        begun = {f"{i.payload['folder']}/steps/{i.id}" for i in ledger.intents("step")}
        begun |= {i.payload["folder"] for i in ledger.intents("load")}
    named = blocks | steps | trash | begun
    above = {str(parent) for folder in named for parent in Path(folder).parents}
    found: list[str] = []

    def visit(folder: Path) -> None:
        for child in sorted(p for p in folder.iterdir() if p.is_dir()):
            name = str(child.relative_to(warehouse))
            if name in blocks:
                if (child / "steps").is_dir():
                    visit(child / "steps")
            elif name == READS:
                continue  # of readers that may be at work; the next writer sees to what others left
            elif name in above:
                visit(child)
            elif name not in named:
                found.append(name)

    for root in FOLDERS:
        if (warehouse / root).is_dir():
            visit(warehouse / root)
    return found


def _files(project: Project, ledger: Ledger) -> Finding:
    try:
        missing = [f.view.name for f in view_files(project) if ledger.view(f.view.name) is None]
    except RollviewError as error:
        return _failed("views/*.sql", error)
    text = f"not created yet: {', '.join(missing)}" if missing else "all are created"
    return Finding(True, "views/*.sql", text)
