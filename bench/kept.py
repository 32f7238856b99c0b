"""One view kept by every variant side by side: full recompute, hand-written MERGE if there is one, and rollview twice.

`refresh` is rollview told to go incrementally, `auto` is rollview choosing by itself. Each has its own stored copy and
its own warehouse, so that every run pays for its own capture.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import rollview
from bench import baseline, files
from bench.measure import Runner, Samples, Work, fingerprint

VARIANTS = ("full", "merge", "refresh", "auto")


def built(runner: Runner, folder: Path, lake: Path, views: Mapping[str, str]) -> dict[str, float]:
    """A warehouse over the lake with the views, to be copied; how long each view took to build."""
    seconds = {}
    with rollview.open(folder, runner.spark) as warehouse:
        warehouse.add_source("lake", delta=lake)
        for view, sql in views.items():
            run = runner.once(partial(warehouse.create, view, sql, policy="incremental"))
            seconds[view] = round(run.seconds, 2)
    return seconds


class Kept:
    """One view in all its variants."""

    def __init__(
        self,
        spark: SparkSession,
        work: Path,
        lake: Path,
        view: str,
        sql: str,
        merge: Callable[[SparkSession, Path, str, Path], baseline.Merge] | None = None,
    ) -> None:
        self.spark, self.lake, self.view, self.sql = spark, lake, view, sql
        self.full = work / f"{view}-full"
        self.merge = merge and merge(spark, lake, view, work / f"{view}-merge")
        self.incremental, self.auto = (
            rollview.open(files.linked(work / "built", work / f"{view}-{policy}"), spark)
            for policy in ("incremental", "auto")
        )
        self.auto.alter(view, {"policy": "auto"})
        self.samples: dict[str, Samples] = {}

    def round(self, runner: Runner, number: int, with_others: bool, measured: bool) -> None:
        """Every variant once; the others, which are dear, only where asked for."""
        variants: dict[str, Work] = {}
        if with_others:
            variants["full"] = lambda: baseline.overwrite(
                self.spark, self.lake, self.sql, self.full
            )
            if self.merge is not None:
                variants["merge"] = self.merge.run
        variants["refresh"] = lambda: self.incremental.refresh(self.view)
        variants["auto"] = lambda: self.auto.refresh(self.view)
        for name, run in runner.round(number, variants).items():
            if measured:
                self.samples.setdefault(name, Samples()).runs.append(run)
        if with_others:
            files.only_newest(self.full)

    def check(self, cell: object) -> None:
        """Raise unless every variant has the same bag of rows as the full recompute of just now."""
        want = fingerprint(baseline.load(self.spark, self.full))
        have = {"refresh": self.incremental.table(self.view), "auto": self.auto.table(self.view)}
        if self.merge is not None:
            have["merge"] = baseline.load(self.spark, self.merge.target)
        for variant, rows in have.items():
            if (found := fingerprint(rows)) != want:
                raise SystemExit(
                    f"{variant} of {self.view} is wrong in {cell}: {found}, not {want}"
                )

    def summary(self, runner: Runner) -> dict[str, Any]:
        """What the cell showed; the next cell starts with no samples."""
        samples, self.samples = self.samples, {}
        reports = [run.result for run in samples["refresh"].runs]
        chosen = [run.result.technique for run in samples["auto"].runs]
        nothing = runner.alternating({"nothing": lambda: self.incremental.refresh(self.view)}, 5)
        return {
            **{name: samples[name].summary() for name in VARIANTS if name in samples},
            "nothing_new": nothing["nothing"].summary(),
            "technique": reports[-1].technique,
            "auto_technique": max(set(chosen), key=chosen.count),
            "estimate": reports[-1].details.get("estimate"),
            "step_rows": reports[-1].rows,
        }

    def close(self) -> None:
        """Let the warehouses go."""
        self.incremental.close()
        self.auto.close()
