"""What users write down: durations, names, and rollview.toml.

Everything here says which setting is wrong, what was expected and where it stands. Knows no engine.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rollview.errors import ConfigError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

UNITS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800}


def seconds_of(value: object, setting: str) -> float:
    """A duration such as "90 seconds", "5 minutes", "7 days", or a number of seconds."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*?)s?\s*", str(value).lower())
    unit = (found.group(2) or "second") if found else ""
    if found is None or unit not in UNITS:
        raise ConfigError(
            f'setting "{setting}" cannot be "{value}"',
            hint='a duration is a number and a unit: "30 seconds", "5 minutes", "7 days"',
        )
    return float(found.group(1)) * UNITS[unit]


@dataclass(frozen=True, slots=True)
class Project:
    """A project folder: where its warehouse is, its sources, Spark settings and views."""

    folder: Path
    warehouse: Path
    ledger_url: str | None = None
    master: str | None = None
    spark: Mapping[str, str] = field(default_factory=dict)
    sources: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    run: Mapping[str, Any] = field(default_factory=dict)


def read_project(folder: Path) -> Project:
    """The project in `folder`, from its rollview.toml."""
    path = folder / "rollview.toml"
    try:
        text = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f'"{folder}" is not a rollview project',
                          f"there is no {path.name} in it", "rollview init makes one") from None  # fmt: skip
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(
            f'"{path}" cannot be read', str(error), "mend the line it names"
        ) from error
    known = {"warehouse", "ledger", "spark", "source", "run"}
    unknown = sorted(set(text) - known)
    if unknown:
        raise ConfigError(f'"{path}" has an unknown entry "{unknown[0]}"',
                          hint=f"known entries: {', '.join(sorted(known))}")  # fmt: skip
    spark = {str(k): str(v) for k, v in text.get("spark", {}).items()}
    return Project(
        folder=folder,
        warehouse=folder / text.get("warehouse", "warehouse"),
        ledger_url=text.get("ledger"),
        master=spark.pop("master", None),
        spark={k if k.startswith("spark.") else f"spark.{k}": v for k, v in spark.items()},
        sources=text.get("source", {}),
        run=text.get("run", {}),
    )
