"""Writes docs/reference.md from the code and docs/sql.md from the golden cases, and checks every link.

`make docs` writes; `python tools/docs.py --check` only says whether the files are as they should be and whether all
links between the documents lead somewhere (tests/unit/test_docs.py runs that).
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import click
from sql_page import sql_page

from rollview.cli.main import VERBS, rollview
from rollview.define import OPTIONS
from rollview.failpoints import Failpoint

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"


def reference() -> str:
    """The reference: every verb's help, the options of a view, the failpoints."""
    parts = ["# Reference", "Written by `make docs` from the code; do not edit.", "## Verbs"]
    for title, verbs in VERBS.items():
        parts.append(f"### {title}")
        parts += [f"```text\n{help_of(name).strip()}\n```" for name in verbs]
    parts += ["## Options of a view", "| option | meaning |\n|---|---|"]
    parts[-1] += "".join(f"\n| `{name}` | {meaning} |" for name, meaning in OPTIONS.items())
    parts += [
        "## Failpoints",
        'Set `ROLLVIEW_FAILPOINTS="name=kill"` (or `raise`, `enospc`) to crash there:',
    ]
    parts.append("\n".join(f"- `{point.value}`" for point in Failpoint))
    return "\n\n".join(parts) + "\n"


def help_of(name: str) -> str:
    """What `rollview NAME --help` prints, with the help of its own verbs below it."""
    context = click.Context(
        rollview, info_name="rollview", terminal_width=100, max_content_width=100
    )
    command = rollview.get_command(context, name)
    assert command is not None, f"the verb {name} is there"
    inner = click.Context(command, context, name, terminal_width=100, max_content_width=100)
    texts = [command.get_help(inner)]
    if isinstance(command, click.Group):
        for sub in command.commands:
            leaf = command.commands[sub]
            deeper = click.Context(leaf, inner, sub, terminal_width=100, max_content_width=100)
            texts.append(leaf.get_help(deeper))
    return "\n\n".join(texts)


def broken_links() -> list[str]:
    """Links between the repository's documents that lead nowhere."""
    broken = []
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
            path = target.partition("#")[0]
            if path and "://" not in path and not (page.parent / path).exists():
                broken.append(f"{page.relative_to(ROOT)}: {target}")
    return broken


def run(check: bool) -> int:
    """Write or check; the exit code."""
    pages = {"reference.md": reference(), "sql.md": sql_page()}
    stale = [n for n, text in pages.items() if not (DOCS / n).exists() or read(DOCS / n) != text]
    if not check:
        for name in stale:
            (DOCS / name).write_text(pages[name], encoding="utf-8")
        stale = []
    for line in broken_links():
        print(f"broken link: {line}")
    for name in stale:
        print(f"docs/{name} is not what it should be: run make docs")
    return 1 if broken_links() or stale else 0


def read(page: Path) -> str:
    """The text of a page."""
    return page.read_text(encoding="utf-8")


if __name__ == "__main__":
    sys.exit(run("--check" in sys.argv))
