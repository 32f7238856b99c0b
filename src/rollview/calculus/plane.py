"""The time plane as a drawing: how far each input is, and which rectangle the next step adds.

Two inputs span a plane of CSNs; what is done is the rectangle up to the frontier, the next step adds strips to it.
More inputs are drawn as bars. Only for people: nothing is decided here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rollview.changes import Csn

WIDTH, HEIGHT = 40, 10
DONE, NEXT, OPEN = "█", "▒", "·"


@dataclass(frozen=True, slots=True)
class Axis:
    """An input: where its drawing begins, its frontier, and where the next step takes it."""

    name: str
    start: Csn
    frontier: Csn
    after: Csn


def draw(axes: Sequence[Axis], newest: Csn) -> str:
    """The plane of the first two inputs, if there are two, and a bar for every input."""
    lines = [_bar(axis, newest, max(len(a.name) for a in axes)) for axis in axes]
    if len(axes) == 2:
        lines += ["", *_plane(axes[0], axes[1], newest)]
    return "\n".join([*lines, f"{DONE} done  {NEXT} next step  {OPEN} open"])


def _cells(axis: Axis, newest: Csn, cells: int) -> str:
    """One character per cell of the axis."""
    span = max(1, newest - axis.start)

    def cell(k: int) -> str:
        upto = axis.start + span * (k + 1) / cells
        return DONE if upto <= axis.frontier else NEXT if upto <= axis.after else OPEN

    return "".join(cell(k) for k in range(cells))


def _bar(axis: Axis, newest: Csn, width: int) -> str:
    move = f"{axis.frontier}" if axis.after <= axis.frontier else f"{axis.frontier} -> {axis.after}"
    return f"{axis.name:<{width}} {_cells(axis, newest, WIDTH)} {move} of {newest}"


def _plane(x: Axis, y: Axis, newest: Csn) -> list[str]:
    across, up = _cells(x, newest, WIDTH), _cells(y, newest, HEIGHT)
    worst = {DONE: 0, NEXT: 1, OPEN: 2}
    rows = [
        "  | " + "".join(max(a, u, key=worst.__getitem__) for a in across) for u in reversed(up)
    ]
    return [f"{y.name} ^", *rows, "  +" + "-" * (WIDTH + 1) + f"> {x.name}"]
