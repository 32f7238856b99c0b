"""What users write down: durations, names, and rollview.toml.

Everything here says which setting is wrong, what was expected and where it stands. Knows no engine.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rollview.errors import ConfigError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found, unused-ignore]

UNITS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800}
PROJECT_FILE = "rollview.toml"
ENTRIES = ("warehouse", "ledger", "deterministic_functions", "spark", "source", "run")
SOURCE_KEYS = ("delta", "postgres", "tables", "mode", "hold")
RUN_KEYS = ("every",)


def seconds_of(value: object, setting: str) -> float:
    """A duration such as "90 seconds", "5 minutes", "7 days", or a number of seconds."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < math.inf:
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
    deterministic_functions: tuple[str, ...] = ()


def project_folder(start: Path) -> Path | None:
    """The nearest folder with a rollview.toml: `start` itself, or one above it."""
    start = start.resolve()
    return next((f for f in (start, *start.parents) if (f / PROJECT_FILE).is_file()), None)


def read_project(folder: Path) -> Project:
    """The project in `folder`, from its rollview.toml."""
    path = folder / PROJECT_FILE
    text = _toml(path)
    _known(path, "", text, ENTRIES)
    spark = dict(_flat(_table(path, text, "spark")))
    sources = _table(path, text, "source")
    for name in sources:
        _known(path, f"source.{name}.", _table(path, sources, name, "source."), SOURCE_KEYS)
    run = _table(path, text, "run")
    _known(path, "run.", run, RUN_KEYS)
    if "every" in run:
        seconds_of(run["every"], "run.every")
    return Project(
        folder=folder.resolve(),
        warehouse=folder.resolve() / (_string(path, text, "warehouse") or "warehouse"),
        ledger_url=_string(path, text, "ledger"),
        master=spark.pop("master", None),
        spark={k if k.startswith("spark.") else f"spark.{k}": v for k, v in spark.items()},
        sources=sources,
        run=run,
        deterministic_functions=_names(path, text, "deterministic_functions"),
    )


def _toml(path: Path) -> dict[str, Any]:
    try:
        text: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
        return text
    except FileNotFoundError:
        raise ConfigError(f'"{path.parent}" is not a rollview project',
                          f"there is no {path.name} in it", "rollview init makes one") from None  # fmt: skip
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(
            f'"{path}" cannot be read', str(error), "mend the line it names"
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f'"{path}" cannot be read', str(error)) from error


def _known(path: Path, prefix: str, table: Mapping[str, Any], known: tuple[str, ...]) -> None:
    unknown = sorted(set(table) - set(known))
    if unknown:
        raise ConfigError(f'"{path}" has an unknown entry "{prefix}{unknown[0]}"',
                          hint=f"known entries: {', '.join(prefix + k for k in known)}")  # fmt: skip


def _table(path: Path, text: Mapping[str, Any], key: str, prefix: str = "") -> dict[str, Any]:
    value = text.get(key, {})
    if not isinstance(value, dict):
        raise ConfigError(f'"{path}": "{prefix}{key}" cannot be "{value}"',
                          hint=f"write a table: [{prefix}{key}] and its entries below it")  # fmt: skip
    return value


def _string(path: Path, text: Mapping[str, Any], key: str) -> str | None:
    value = text.get(key)
    if value is not None and not (isinstance(value, str) and value):
        raise ConfigError(f'"{path}": "{key}" cannot be {value!r}', hint="write it in quotes")
    return value


def _names(path: Path, text: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = text.get(key, [])
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise ConfigError(f'"{path}": "{key}" cannot be {value!r}', hint=f'write {key} = ["name"]')
    return tuple(value)


def _flat(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Dotted keys such as sql.shuffle.partitions, which TOML reads as tables inside tables."""
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, str(value).lower() if isinstance(value, bool) else str(value)
