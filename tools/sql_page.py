"""docs/sql.md from the golden cases: what of SQL is maintained, how, what it remembers and costs, or why it is refused.

Everything comes from tests/golden: the constructs and examples from the files, the techniques from the blocks that the
files list, which the tests hold against what the product makes of them. `tools/docs.py` writes and checks the page.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "tests"))

from golden.case import Case, all_cases  # noqa: E402

NOT_YET = ROOT / "tests" / "golden" / "not_yet.txt"
SKIPPED = ("Refused", "found by random views", "examples of the papers")

NOTHING = "nothing"
KINDS = {
    "select": ("filter and project the changed rows", NOTHING, "the changed rows"),
    "join": (
        "join the changes of each input with the other inputs as of their times",
        NOTHING,
        "the changed rows and those they meet",
    ),
    "union": (
        "add the changes of all parts, or take them away",
        NOTHING,
        "the changed rows and those they meet",
    ),
    "distinct": ("count the rows of each key", "a count per key", "the changed rows"),
    "sums": ("add to the sums of each group", "count and sums per group", "the changed rows"),
    "one group": ("add to the sums", "one count and the sums", "the changed rows"),
    "groups": (
        "compare the bag of each touched key before and after each transaction",
        "what it shows (bags are read from the inputs)",
        "the rows of the touched keys",
    ),
    "windows": (
        "compare each touched partition before and after each transaction",
        "what it shows (partitions are read from the inputs)",
        "the rows of the touched partitions",
    ),
    "fixpoint": (
        "follow what changed from level to level",
        "how often each row arrives at each level",
        "the rows that the changes reach, some jobs a level",
    ),
}
"""Kind of block -> how it is maintained, what it remembers, what a refresh costs."""
USUAL = 0.4
"""A construct is described by the kinds of block that at least this share of its cases has."""


def sql_page() -> str:
    """The page."""
    late = set(NOT_YET.read_text(encoding="utf-8").split())
    cases = all_cases()
    built = [c for c in cases if c.name not in late and c.construct not in SKIPPED]
    parts = [
        "# SQL: what is maintained, and what is refused",
        "Written by `make docs` from the cases in `tests/golden/cases`; do not edit. Each case runs through its own "
        "and through random transactions, and is compared with a recompute at random times.",
        "## Maintained",
        table(
            (
                "construct",
                "for example",
                "how it is maintained",
                "what it remembers",
                "what a refresh costs",
                "cases",
            ),
            [
                (construct, code(example(mine)), *described(mine), str(len(mine)))
                for construct, mine in by_construct(built).items()
            ],
        ),
        "## Refused",
        "Each at creation, by name, with the place underlined and a hint.",
        table(
            ("what", "for example", "refused with", "hint"),
            [
                (
                    c.title,
                    code(c.sql),
                    c.written["refused"][0],
                    c.written["refused"][-1].removeprefix("hint: "),
                )
                for c in cases
                if c.refused and c.name not in late
            ],
        ),
    ]
    waiting = sorted({c.construct for c in cases if c.name in late and c.construct not in SKIPPED})
    if waiting:
        parts += ["## Not built yet", f"Some cases of: {', '.join(waiting)}."]
    return "\n\n".join(parts) + "\n"


def by_construct(cases: list[Case]) -> dict[str, list[Case]]:
    """The cases of each construct."""
    found: dict[str, list[Case]] = {}
    for case in sorted(cases, key=lambda c: (c.construct.lower(), c.name)):
        found.setdefault(case.construct, []).append(case)
    return found


def example(cases: list[Case]) -> str:
    """The shortest view of a construct."""
    return min((c.sql for c in cases if len(c.views) == 1), key=len, default=cases[0].sql)


def described(cases: list[Case]) -> tuple[str, str, str]:
    """How a construct is maintained, what it remembers and costs, by the usual blocks of its cases."""
    listed = [c.written["blocks"] for c in cases if "blocks" in c.written]
    kinds = [{kind_in(line) for line in lines if line[0] != " "} for lines in listed]
    usual = [k for k in KINDS if sum(k in some for some in kinds) >= USUAL * len(kinds)]
    how, remembers, costs = (
        list(dict.fromkeys(texts)) for texts in zip(*(KINDS[k] for k in usual), strict=True)
    )
    kept = [text for text in remembers if text != NOTHING] or [NOTHING]
    return "; ".join(how), "; ".join(kept), "; ".join(costs)


def kind_in(line: str) -> str:
    """The kind of block that a line of a golden file names, as KINDS has it."""
    what = line.split(": ", 1)[1]
    if what.startswith("reduce"):
        return (
            "distinct"
            if "sums" not in what and " by " in what
            else "sums"
            if " by " in what
            else "one group"
        )
    return what.rsplit(", ", 1)[-1] if what.startswith("bags") else what.split(" ")[0]


def code(sql: str) -> str:
    """SQL in one line of a table."""
    line = " ".join(sql.split()).replace("|", "\\|")
    return f"`` {line} ``" if "`" in line else f"`{line}`"


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """A table."""
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
