"""Named places where a test can make rollview crash: one before and one after every durable write.

F1  Off unless ROLLVIEW_FAILPOINTS is set, e.g. "step.after_write=kill;fold.after_commit=raise@2": then the named
    point kills the process with SIGKILL, raises Crash, or fails with a full disk (enospc): at the first, or at
    the n-th time since the variable was set to this.
F2  The points are an Enum, so that the fault tests go through all of them and none is forgotten.
"""

from __future__ import annotations

import errno
import os
import signal
from collections import Counter
from enum import Enum


class Failpoint(Enum):
    """Every place where a crash is tried."""

    LEDGER_BEFORE_LINK = "ledger.before_link"
    LEDGER_AFTER_LINK = "ledger.after_link"
    CAPTURE_BEFORE_COMMIT = "capture.before_commit"
    CAPTURE_AFTER_COMMIT = "capture.after_commit"
    STREAM_AFTER_INTENT = "stream.after_intent"
    STREAM_AFTER_WRITE = "stream.after_write"
    STREAM_BEFORE_CONFIRM = "stream.before_confirm"
    STREAM_AFTER_CONFIRM = "stream.after_confirm"
    SLOT_BEFORE_CREATE = "slot.before_create"
    SLOT_AFTER_CREATE = "slot.after_create"
    SLOT_BEFORE_DROP = "slot.before_drop"
    SLOT_AFTER_DROP = "slot.after_drop"
    LOAD_AFTER_WRITE = "load.after_write"
    SOURCE_BEFORE_COMMIT = "source.before_commit"
    SOURCE_AFTER_COMMIT = "source.after_commit"
    SOURCE_BEFORE_DROP = "source.before_drop"
    SOURCE_AFTER_DROP = "source.after_drop"
    CREATE_BEFORE_REGISTER = "create.before_register"
    CREATE_AFTER_REGISTER = "create.after_register"
    BUILD_BEFORE_PIECE = "build.before_piece"
    BUILD_BEFORE_RENAME = "build.before_rename"
    BUILD_AFTER_PIECE = "build.after_piece"
    BUILD_AFTER_WRITE = "build.after_write"
    BUILD_BEFORE_COMMIT = "build.before_commit"
    BUILD_AFTER_COMMIT = "build.after_commit"
    STEP_AFTER_INTENT = "step.after_intent"
    STEP_AFTER_WRITE = "step.after_write"
    STEP_AFTER_COMMIT = "step.after_commit"
    REFRESH_BEFORE_HISTORY = "refresh.before_history"
    REFRESH_AFTER_HISTORY = "refresh.after_history"
    REFRESH_BEFORE_STOP = "refresh.before_stop"
    REFRESH_AFTER_STOP = "refresh.after_stop"
    APPLY_BEFORE_COMMIT = "apply.before_commit"
    APPLY_AFTER_COMMIT = "apply.after_commit"
    FOLD_AFTER_INTENT = "fold.after_intent"
    FOLD_AFTER_DELTA_COMMIT = "fold.after_delta_commit"
    FOLD_AFTER_COMMIT = "fold.after_commit"
    GATHER_AFTER_INTENT = "gather.after_intent"
    GATHER_AFTER_WRITE = "gather.after_write"
    GATHER_AFTER_COMMIT = "gather.after_commit"
    FORGET_BEFORE_COMMIT = "forget.before_commit"
    FORGET_AFTER_COMMIT = "forget.after_commit"
    SWEEP_BEFORE_DELETE = "sweep.before_delete"
    SWEEP_AFTER_DELETE = "sweep.after_delete"
    RECOVER_BEFORE_COMMIT = "recover.before_commit"
    RECOVER_AFTER_COMMIT = "recover.after_commit"
    ALTER_BEFORE_COMMIT = "alter.before_commit"
    ALTER_AFTER_COMMIT = "alter.after_commit"
    DROP_BEFORE_COMMIT = "drop.before_commit"
    DROP_AFTER_COMMIT = "drop.after_commit"


class Crash(BaseException):
    """Raised by a failpoint: nothing in the product catches it, as nothing survives a kill."""


_reached: Counter[tuple[str, Failpoint]] = Counter()


def failpoint(point: Failpoint) -> None:
    """Crash here if the environment says so (F1)."""
    wanted = os.environ.get("ROLLVIEW_FAILPOINTS")
    if not wanted:
        _reached.clear()
        return
    for entry in wanted.split(";"):
        name, _, action = entry.partition("=")
        if name == point.value:
            action, _, turn = action.partition("@")
            _reached[wanted, point] += 1
            if _reached[wanted, point] == int(turn or 1):
                _crash(point, action)


def _crash(point: Failpoint, action: str) -> None:
    match action:
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "raise":
            raise Crash(point.value)
        case "enospc":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), point.value)
        case _:
            raise ValueError(f"failpoint {point.value}: unknown action {action!r}")
