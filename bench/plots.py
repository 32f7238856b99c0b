"""Pictures of the saved results for docs/performance.md, as PNG and SVG."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure

Cell = dict[str, Any]
COLOURS = {"full": "#7f7f7f", "merge": "#d98c3f", "refresh": "#1f6fb4", "auto": "#6bae5f"}
NAMES = {"full": "full recompute", "merge": "MERGE by hand", "refresh": "refresh", "auto": "auto"}
VIEWS = {"select_join": "select-join view", "aggregate": "aggregate view"}
STYLE: dict[Any, Any] = {"font.size": 10, "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True,
         "grid.alpha": 0.3, "figure.dpi": 110, "svg.hashsalt": "rollview", "legend.frameon": False}  # fmt: skip


def draw(found: dict[str, list[Cell]], folder: Path) -> list[str]:
    """Every picture for which there are results; their names."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn = []
    with pyplot.rc_context(STYLE):
        for name, (benchmark, make) in PICTURES.items():
            figure = make(found[benchmark]) if found[benchmark] else None
            if figure is not None:
                figure.savefig(folder / f"{name}.png", bbox_inches="tight")
                figure.savefig(folder / f"{name}.svg", bbox_inches="tight", metadata={"Date": None})
                pyplot.close(figure)
                drawn.append(name)
    return drawn


def _usual(cells: Sequence[Cell]) -> list[Cell]:
    return [c for c in cells if not c["customers"] and not c["vectors"]]


def _lines(axes: Axes, cells: Sequence[Cell], by: str) -> None:
    """One line a variant, with the extremes as a band."""
    ordered = sorted(cells, key=lambda c: c[by])
    for variant in ("full", "merge", "refresh"):
        x = [c[by] for c in ordered]
        values = [c[variant] for c in ordered]
        axes.plot(x, [v["median"] for v in values], "o-", color=COLOURS[variant], label=NAMES[variant])  # fmt: skip
        axes.fill_between(x, [v["min"] for v in values], [v["max"] for v in values],
                          color=COLOURS[variant], alpha=0.15, linewidth=0)  # fmt: skip
    axes.set(xscale="log", yscale="log")
    axes.set_xticks(x, [_short(v) for v in x])
    axes.minorticks_off()
    axes.yaxis.set_major_formatter(lambda v, _: f"{v:g}")
    axes.set_yticks([t for t in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100) if _within(axes, t)])


def _within(axes: Axes, value: float) -> bool:
    low, high = axes.get_ylim()
    return low <= value <= high


def _short(number: int) -> str:
    return f"{number // 1_000_000}M" if number >= 1_000_000 else f"{number:,}"


def _by_rows(cells: Sequence[Cell]) -> Figure:
    chosen = [c for c in _usual(cells) if c["changes"] == 1_000]
    return _two(chosen, "rows", "rows of sales", "1,000 changes")


def _by_changes(cells: Sequence[Cell]) -> Figure:
    rows = max((c["rows"] for c in _usual(cells) if c["changes"] == 100_000), default=0)
    chosen = [c for c in _usual(cells) if c["rows"] == rows]
    return _two(chosen, "changes", "changes in the batch", f"{_short(rows)} rows")


def _two(cells: Sequence[Cell], by: str, label: str, title: str) -> Figure:
    """Two panels, one a view."""
    figure, panels = pyplot.subplots(1, 2, figsize=(9, 3.4), sharey=True)
    for axes, (view, name) in zip(panels, VIEWS.items(), strict=True):
        _lines(axes, [c for c in cells if c["view"] == view], by)
        axes.set(title=f"{name}, {title}", xlabel=label)
    panels[0].set_ylabel("seconds")
    _legend(figure, panels[0])
    return figure


def _readers(cells: Sequence[Cell]) -> Figure | None:
    read = [c for c in cells if "readers" in c]
    if not read:
        return None
    rows = max(c["rows"] for c in read)
    figure, panels = pyplot.subplots(1, 2, figsize=(9, 3.2), sharey=True)
    for axes, (view, name) in zip(panels, VIEWS.items(), strict=True):
        one = next(c["readers"] for c in read if c["view"] == view and c["rows"] == rows)
        queries = list(one["pending"])
        bars = {
            "plain Delta Lake table": ("#7f7f7f", [one["pending"][q]["plain"] for q in queries]),
            "view, changes pending": ("#1f6fb4", [one["pending"][q]["view"] for q in queries]),
            "view, folded": ("#8fbde0", [one["folded"][q]["view"] for q in queries]),
        }
        _bars(axes, queries, bars)
        axes.set(title=f"reading the {name}, {_short(rows)} rows")
    panels[0].set_ylabel("seconds")
    _legend(figure, panels[0])
    return figure


def _legend(figure: Figure, axes: Axes) -> None:
    """One legend for all panels, below them, where no line can be."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="upper center", bbox_to_anchor=(0.5, -0.02), ncols=3)


def _bars(axes: Axes, names: Sequence[str], bars: dict[str, tuple[str, list[Cell]]]) -> None:
    width = 0.8 / len(bars)
    for place, (label, (colour, values)) in enumerate(bars.items()):
        x = [k + (place - (len(bars) - 1) / 2) * width for k in range(len(names))]
        heights = [v["median"] for v in values]
        spread = [[h - v["min"] for h, v in zip(heights, values, strict=True)],
                  [v["max"] - h for h, v in zip(heights, values, strict=True)]]  # fmt: skip
        axes.bar(x, heights, width, yerr=spread, color=colour, label=label,
                 error_kw={"elinewidth": 0.8, "ecolor": "#444444"})  # fmt: skip
    axes.set_xticks(range(len(names)), names)
    axes.grid(axis="x", visible=False)


def _chain(cells: Sequence[Cell]) -> Figure:
    figure, axes = pyplot.subplots(figsize=(9, 3.2))
    ordered = sorted(cells, key=lambda c: (c["changes"], c["tables"]))
    bars = {NAMES[v]: (COLOURS[v], [c[v] for c in ordered]) for v in ("full", "refresh", "auto")}
    _bars(axes, [f"{c['changes']:,}\nover {c['tables']}" for c in ordered], bars)
    axes.set(title="chain of six tables", xlabel="changes over so many tables", ylabel="seconds")
    _legend(figure, axes)
    return figure


def _commits(cells: Sequence[Cell]) -> Figure:
    figure, axes = pyplot.subplots(figsize=(9, 3.2))
    for c, colour in zip(cells, ("#1f6fb4", "#d98c3f"), strict=False):
        step = c["commits"] / len(c["course"])
        axes.plot([step * (k + 1) for k in range(len(c["course"]))], c["course"], "o-",
                  label=VIEWS[c["view"]], color=colour)  # fmt: skip
    top = 1.1 * max(seconds for c in cells for seconds in c["course"])
    axes.set(title="refresh of 10 changes, commit after commit", xlabel="commits so far",
             ylabel="seconds, median of a hundred", ylim=(0, top))  # fmt: skip
    _legend(figure, axes)
    return figure


PICTURES = {
    "star-rows": ("star", _by_rows),
    "star-changes": ("star", _by_changes),
    "readers": ("star", _readers),
    "chain": ("chain", _chain),
    "commits": ("commits", _commits),
}
