"""rollview demo: a small shop from its first table to a verified roll-back, told as it happens.

What is compared with a recompute is measured in the same run, on the same machine, in the same Spark session.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.text import Text

from rollview.cli.demo_live import live_part
from rollview.cli.demo_shop import CUSTOMERS, PRODUCTS, SALES, SAYS, VIEWS, Event, Shop
from rollview.cli.place import Place, place_options
from rollview.cli.printing import BAD, GOOD, counted, json_option, print_json, stdout, table
from rollview.cli.progress import start_spark
from rollview.cli.project import prepare
from rollview.config import PROJECT_FILE, read_project
from rollview.errors import ConfigError
from rollview.warehouse import Warehouse

if TYPE_CHECKING:
    from rollview.refresh import RefreshReport

PROJECT = (
    'warehouse = "warehouse"\n\n[source.lake]\ndelta = "lake"\n\n[run]\nevery = "30 seconds"\n'
)

# The JVM lives for a minute, over a few thousand rows: code that its second compiler or Spark's makes would hardly run
# before the end, and Spark's own classes need no verification.
SHORT_LIVED = {
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC "
    "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


@dataclass(frozen=True, slots=True)
class Compared:
    """A refresh and a plain recompute of the same view, side by side."""

    view: str
    technique: str
    changed_rows: int
    rows_written: int
    jobs: int
    seconds: float
    recompute_rows_read: int
    recompute_rows_written: int
    recompute_jobs: int
    recompute_seconds: float


@dataclass(slots=True)
class Summary:
    """What the demo found."""

    ok: bool = False
    seconds: float = 0.0
    project: str | None = None
    compared: list[Compared] = field(default_factory=list)
    verified: list[Any] = field(default_factory=list)


class Story:
    """Tells what happens, unless only the summary is wanted."""

    def __init__(self, silent: bool) -> None:
        self.silent, self._chapter = silent, 0
        self.console = stdout()

    def chapter(self, title: str) -> None:
        """A new part of the story."""
        self._chapter += 1
        self.show(Text(f"\n{self._chapter}. {title}", "bold cyan"))

    def say(self, text: str, style: str = "") -> None:
        """A sentence."""
        self.show(Text(f"   {text}", style))

    def show(self, what: Any) -> None:
        """Anything that can be printed."""
        if not self.silent:
            self.console.print(what)


@click.command()
@click.option("--keep", metavar="DIR", type=click.Path(path_type=Path, file_okay=False),
              help="Make the project in this folder and leave it there.")  # fmt: skip
@json_option
@place_options()
@click.pass_context
def demo(ctx: click.Context, keep: Path | None, as_json: bool) -> None:
    """Show rollview at work on a small shop, in about a minute.

    Makes three Delta Lake tables and three views, changes the tables, refreshes the views, rolls one to the past and
    back, joins the lake with a live PostgreSQL table where there is a server, and checks every view against a
    recompute. Leaves nothing behind. Exit code 1 if a check fails.

    \b
    Example:
      rollview demo
      rollview demo --keep shop     # and then: cd shop && rollview status
    """
    if keep is not None and keep.exists() and any(keep.iterdir()):
        raise ConfigError(
            f'folder "{keep}" is not empty', hint="name a folder that does not exist yet"
        )
    clock = time.monotonic()
    with _folder(keep) as folder:
        summary = _told(folder, Story(as_json), ctx.ensure_object(Place).debug)
        summary.seconds = time.monotonic() - clock
        summary.project = str(keep) if keep else None
    if as_json:
        print_json(summary)
    else:
        _ending(summary, keep)
    if not summary.ok:
        ctx.exit(1)


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        yield keep.resolve()
        return
    folder = Path(tempfile.mkdtemp(prefix="rollview-demo-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _told(folder: Path, story: Story, debug: bool) -> Summary:
    summary = Summary()
    (folder / PROJECT_FILE).write_text(PROJECT, encoding="utf-8")
    (folder / "views").mkdir()
    for name, text in VIEWS.items():
        (folder / "views" / f"{name}.sql").write_text(text, encoding="utf-8")
    project = read_project(folder)
    with Warehouse(project.warehouse, settings=SHORT_LIVED) as wh:
        start_spark(wh, debug)
        shop = Shop(wh.spark, folder / "lake")
        story.chapter("A shop in Delta Lake")
        shop.open()
        story.say(f"{CUSTOMERS} customers, {PRODUCTS} products, {SALES:,} sales; change feed on.")
        story.chapter("Three views, written in SQL in views/*.sql")
        prepare(wh, project, (), lambda _: None)
        for name, words in SAYS.items():
            story.say(f"{name}: {words}")
        _mark(wh, story, "They are built once. From now on, only changes are worked in.")
        story.chapter("The morning: the shop sells")
        _committed(story, shop.morning())
        story.show(_refreshed(wh.refresh()))
        morning = wh.capture().csn
        story.chapter("The afternoon: corrections, cancellations, customers move")
        _committed(story, shop.afternoon())
        reports = wh.refresh()
        story.show(_refreshed(reports))
        story.chapter("The same views recomputed by plain Spark, in the same session")
        summary.compared = [_compared(wh, shop, folder, report) for report in reports]
        _show_compared(story, summary.compared)
        story.chapter("Back to the morning, and forth again")
        summary.verified += _rolled(wh, story, morning)
        story.chapter("A live PostgreSQL table joins in")
        live = live_part(wh, folder / "lake", story.say)
        story.chapter("Is it right? Every view against a recompute, row by row")
        wh.refresh()
        with ThreadPoolExecutor(len(VIEWS)) as threads:
            summary.verified += [*live, *threads.map(wh.verify, VIEWS)]
        _show_verified(story, summary.verified)
    summary.ok = all(v.ok for v in summary.verified)
    return summary


def _mark(wh: Warehouse, story: Story, words: str) -> None:
    story.say(f"{words} The newest transaction is {wh.ledger.newest_csn()}.")


def _committed(story: Story, events: list[Event]) -> None:
    for event in events:
        event.run()
        story.say(f"committed: {event.words}")


def _refreshed(reports: list[RefreshReport]) -> Any:
    shown = table(("   refresh", "technique", "shows", "changed rows", "rows written", "jobs", "seconds"),
                  ("shows", "changed rows", "rows written", "jobs", "seconds"))  # fmt: skip
    for r in reports:
        shown.add_row(f"   {r.view}", r.technique, str(r.view_time), str(r.details.get("read", 0)),
                      str(r.rows), str(r.jobs), f"{r.seconds:.1f}")  # fmt: skip
    return shown


def _compared(wh: Warehouse, shop: Shop, folder: Path, report: RefreshReport) -> Compared:
    from rollview.spark.evaluate import jobs_of

    clock = time.monotonic()
    with jobs_of(wh.spark) as jobs:
        target = str(folder / "recomputed" / report.view)
        shop.plain_query(report.view).write.format("delta").mode("overwrite").save(target)
        ran = jobs()
    seconds = time.monotonic() - clock
    tables = ["lake.sales", "lake.customers"] + ["lake.products"] * (report.view != "city_totals")
    read = sum(r.rows for r in wh.ledger.relations() if r.name in tables)
    written = _rows_written(Path(target))
    shutil.rmtree(target, ignore_errors=True)
    return Compared(report.view, report.technique, int(report.details.get("read", 0)), report.rows,
                    report.jobs, report.seconds, read, written, ran, seconds)  # fmt: skip


def _rows_written(table: Path) -> int:
    """The rows of a table's first commit, as its log has them."""
    log = (table / "_delta_log" / f"{0:020d}.json").read_text(encoding="utf-8")
    commits = [json.loads(line).get("commitInfo") for line in log.splitlines()]
    return sum(int(c["operationMetrics"]["numOutputRows"]) for c in commits if c)


def _show_compared(story: Story, compared: list[Compared]) -> None:
    numbers = ("changed", "read", "written", "jobs", "seconds")
    shown = table(("   view", "way", *numbers), numbers)
    for c in compared:
        shown.add_row(f"   {c.view}", "refresh", f"{c.changed_rows:,}", "", f"{c.rows_written:,}",
                      str(c.jobs), f"{c.seconds:.1f}")  # fmt: skip
        shown.add_row("", "recompute", "", f"{c.recompute_rows_read:,}",
                      f"{c.recompute_rows_written:,}", str(c.recompute_jobs),
                      f"{c.recompute_seconds:.1f}")  # fmt: skip
    story.show(shown)
    story.say(
        "changed: rows that changed since the last refresh; the other tables are read to find their"
    )
    story.say(
        "partners. The shop is tiny, so seconds here are Spark's fixed cost per job, for both ways:"
    )
    story.say(
        "they say nothing about large tables. A recompute reads all tables and writes the whole view,"
    )
    story.say("a refresh writes what the changes touch.")


def _rolled(wh: Warehouse, story: Story, morning: int) -> list[Any]:
    """Roll city_totals back and forth; the check at the earlier time."""
    newest = wh.view("city_totals").view_time

    def lima() -> str:
        row = wh.table("city_totals").where("city = 'Lima'").first()
        return f"Lima has {row['sales']:,} sales, {row['pieces']:,} pieces" if row else "no Lima"

    story.say(f"city_totals shows {newest}: {lima()}")
    clock = time.monotonic()
    wh.apply("city_totals", morning)
    took = time.monotonic() - clock
    story.say(f"rolled to {morning} in {took:.2f} s, without a Spark job: {lima()}")
    checked = wh.verify("city_totals")
    story.say(
        f"a recompute as of {morning} gives the same"
        if checked.ok
        else "it DIFFERS from a recompute"
    )
    wh.apply("city_totals", newest)
    story.say(f"and back to {newest}")
    return [checked]


def _show_verified(story: Story, reports: list[Any]) -> None:
    for r in reports:
        differs = f"DIFFERS: {r.missing} missing, {r.extra} extra"
        story.say(
            f"{r.view} at {r.view_time}: {'equal' if r.ok else differs}", GOOD if r.ok else BAD
        )


def _ending(summary: Summary, keep: Path | None) -> None:
    console = stdout()
    checks = counted(len(summary.verified), "check")
    words = f"{checks}, all equal" if summary.ok else f"{checks}, and at least one DIFFERS"
    style = f"bold {GOOD if summary.ok else BAD}"
    console.print(Text(f"\n{words}; {summary.seconds:.0f} s in all.", style))
    if keep is not None:
        console.print(Text(f"Next: cd {keep} && rollview status, or rollview explain city_totals."))
    else:
        console.print(
            Text("Next, on your own Delta Lake tables: rollview init shop --lake FOLDER, then")
        )
        console.print(
            Text("rollview refresh. Or rollview demo --keep DIR, to look around in this one.")
        )
