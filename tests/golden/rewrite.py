"""Writes into the golden files what their views give, where that is what a recompute gives: `make golden-rewrite`.

Names after the command are the cases to look at. A case that fails is not rewritten; it is put on not_yet.txt only by
hand. A case of that list that passes is taken off, when all are looked at.
"""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "unit")]

from golden.blocks import shown_blocks  # noqa: E402
from golden.case import FOLDER, Case, all_cases, written  # noqa: E402
from golden.history import history  # noqa: E402
from golden.play import Play, defined, played, refusal, rows_of_written  # noqa: E402

from rollview.errors import ViewRefused  # noqa: E402

NOT_YET = HERE / "not_yet.txt"


def rewritten(case: Case) -> Case:
    """The case with what it gives; raises if that is not right."""
    if case.refused:
        try:
            defined(case.tables, case.views)
        except ViewRefused as error:
            case.written["refused"] = refusal(error)
            return case
        raise AssertionError("it is not refused")
    definitions = defined(case.tables, case.views)
    case.written["blocks"] = shown_blocks(definitions)
    if case.spark_only:
        return case
    with Play(case.tables, case.views, definitions) as play:
        case.written["rows"] = rows_of_written(play, case)
    with Play(case.tables, case.views, definitions) as play:
        played(play, history(Random(1), case.tables, length=10), 1)
    return case


def main() -> int:
    """Rewrite every case that is right; say which are not."""
    late = set(NOT_YET.read_text(encoding="utf-8").split()) if NOT_YET.exists() else set()
    wrong = []
    names = [word for word in sys.argv[1:] if not word.startswith("-")]
    for case in (c for c in all_cases() if not names or c.name in names):
        try:
            text = written(rewritten(case))
        except Exception as error:  # noqa: BLE001 (any failure only keeps the case as it is)
            wrong.append(case.name)
            if case.name not in late or "-v" in sys.argv:
                print(f"{case.name}: {type(error).__name__}: {str(error)[:600]}")  # noqa: T201
            continue
        (FOLDER / f"{case.name}.sql").write_text(text, encoding="utf-8")
    if not names:
        late = set(wrong) if "--all" in sys.argv else late & set(wrong)
    NOT_YET.write_text("".join(f"{name}\n" for name in sorted(late)), encoding="utf-8")
    return 1 if set(wrong) - late else 0


if __name__ == "__main__":
    sys.exit(main())
