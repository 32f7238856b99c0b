"""ARCHITECTURE.md tells the truth: its paths exist, its invariants are stated where it says."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "rollview"
TEXT = re.sub(r"```.*?```", "", (ROOT / "ARCHITECTURE.md").read_text("utf-8"), flags=re.DOTALL)

LONGEST_DOCSTRING = 14

PATH = re.compile(r"`([\w./-]+(?:/[\w.-]+|\.(?:py|md|toml)))`")
STATED = re.compile(r"^([A-Z]\d{1,2})  ", re.MULTILINE)
CITED = re.compile(r"\b([A-Z])(\d{1,2})(?:-\1(\d{1,2}))?\b")
OWNED = re.compile(r"^\| ([A-Z]\d[\dA-Z-]*) \| `([\w./]+)` \|", re.MULTILINE)

# The __init__ of a folder is empty by rule; the top one is the public API.
MODULES = sorted(p for p in PACKAGE.rglob("*.py") if p.read_text("utf-8").strip())


def docstring(module: Path) -> str:
    return ast.get_docstring(ast.parse(module.read_text("utf-8"))) or ""


def numbers(text: str) -> set[str]:
    """R1-R3 names R1, R2 and R3."""
    return {
        f"{letter}{number}"
        for letter, first, last in CITED.findall(text)
        for number in range(int(first), int(last or first) + 1)
    }


def test_the_document_names_paths_and_invariants():
    assert len(PATH.findall(TEXT)) > 40
    assert len(OWNED.findall(TEXT)) > 15


@pytest.mark.parametrize("path", sorted(set(PATH.findall(TEXT))))
def test_every_path_exists(path):
    assert any((base / path).exists() for base in (ROOT, PACKAGE)), path


@pytest.mark.parametrize("module", MODULES, ids=lambda m: str(m.relative_to(PACKAGE)))
def test_every_module_is_on_the_map(module):
    assert f"`{module.relative_to(PACKAGE)}`" in TEXT


@pytest.mark.parametrize("module", MODULES, ids=lambda m: str(m.relative_to(PACKAGE)))
def test_every_module_has_a_short_docstring(module):
    lines = docstring(module).splitlines()
    assert 1 <= len(lines) <= LONGEST_DOCSTRING, f"{len(lines)} lines"


@pytest.mark.parametrize(("cited", "module"), OWNED.findall(TEXT))
def test_every_invariant_is_stated_by_its_module(cited, module):
    assert numbers(cited) <= set(STATED.findall(docstring(PACKAGE / module)))


def test_every_number_cited_exists():
    stated = {number for module in MODULES for number in STATED.findall(docstring(module))}
    assert numbers(TEXT) <= stated


def test_test_modules_have_names_of_their_own():
    """pytest imports them by their names alone."""
    names = [p.name for p in (ROOT / "tests").rglob("*.py") if p.name != "conftest.py"]
    assert sorted(names) == sorted(set(names))
