"""Statements of the ledger that every refresh of every view runs, built once.

Building one anew takes the driver longer than SQLite takes to answer it. What is given at each run is named: `name`,
`of`, `lo`, `hi`, `most`. Statements of other work are written where they are used, in ledger/store.py.
"""

from __future__ import annotations

from dataclasses import fields

from sqlalchemy import BindParameter, bindparam, delete, func, select, update

from rollview.ledger.rows import Refresh
from rollview.ledger.tables import blocks, commits, intents, refreshes, steps, trash, views

NEWEST = select(func.coalesce(func.max(commits.c.csn), 0))
NAME: BindParameter[str] = bindparam("name")
OF: BindParameter[str] = bindparam("of")
"""The name in statements that give columns values, of which `name` is one."""
VIEW = select(views).where(views.c.name == NAME)
BLOCK = select(blocks).where(blocks.c.name == NAME)
BLOCKS = select(blocks).where(blocks.c.view == NAME).order_by(blocks.c.number)
STEPS_AFTER = (
    select(steps)
    .where(steps.c.block == NAME, steps.c.hi > bindparam("lo"))
    .order_by(steps.c.lo, steps.c.hi, steps.c.id)
)
STEPS_IN = STEPS_AFTER.where(steps.c.lo <= bindparam("hi"))
HISTORY = (
    select(*(refreshes.c[field.name] for field in fields(Refresh)))
    .order_by(refreshes.c.number.desc())
    .limit(bindparam("most"))
)
HISTORY_OF = HISTORY.where(refreshes.c.view == NAME)
INTENTS = select(intents).order_by(intents.c.started_at, intents.c.id)
INTENTS_OF = INTENTS.where(intents.c.kind == NAME)
FOLDED_BYTES = select(func.coalesce(func.sum(refreshes.c.bytes), 0)).where(
    refreshes.c.view == NAME,
    refreshes.c.technique == bindparam("technique"),
    refreshes.c.started_at > bindparam("since"),
)
SET_VIEW = update(views).where(views.c.name == OF)
SET_BLOCK = update(blocks).where(blocks.c.name == OF)
NOT_TRASH = delete(trash).where(trash.c.folder == NAME)
ENDED = delete(intents).where(intents.c.id == NAME)
