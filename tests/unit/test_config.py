"""config.py: durations and rollview.toml; every error names the setting and what to write instead."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorded import examples

from rollview.config import UNITS, project_folder, read_project, seconds_of
from rollview.errors import ConfigError


@examples(50)
@given(
    st.integers(0, 10**6),
    st.sampled_from(sorted(UNITS)),
    st.sampled_from(["", "s"]),
    st.sampled_from(["", " ", "  "]),
    st.booleans(),
)
def test_a_duration_is_a_number_and_a_unit(number, unit, plural, space, shouted):
    text = f"{space}{number}{space}{unit}{plural}{space}"
    assert seconds_of(text.upper() if shouted else text, "keep") == number * UNITS[unit]


def test_a_bare_number_counts_seconds():
    assert (seconds_of(90, "keep"), seconds_of("1.5", "keep"), seconds_of(0.5, "keep")) == (
        90.0,
        1.5,
        0.5,
    )


@pytest.mark.parametrize(
    "value", ["", "soon", "5 parsecs", "minutes", "-5 minutes", "1 2", None, True]
)
def test_what_is_no_duration_is_refused_with_the_setting(value):
    with pytest.raises(ConfigError) as refused:
        seconds_of(value, "target_lag")
    assert refused.value.what == f'setting "target_lag" cannot be "{value}"'
    assert '"5 minutes"' in refused.value.hint


def project(folder, text):
    (folder / "rollview.toml").write_text(text, encoding="utf-8")
    return read_project(folder)


def test_an_empty_project_has_its_warehouse_beside_the_file(tmp_path):
    empty = project(tmp_path, "")
    assert empty.warehouse == tmp_path / "warehouse"
    assert (empty.ledger_url, empty.master, dict(empty.spark)) == (None, None, {})


def test_a_project_with_everything(tmp_path):
    full = project(
        tmp_path,
        """
        warehouse = "/data/warehouse"
        ledger = "postgresql://ledger"
        deterministic_functions = ["net_price"]
        [spark]
        master = "local[2]"
        sql.shuffle.partitions = 4
        "spark.ui.enabled" = false
        [source.lake]
        delta = "/data/lake"
        [run]
        every = "30 seconds"
        """,
    )
    assert str(full.warehouse) == "/data/warehouse"
    assert (full.ledger_url, full.master) == ("postgresql://ledger", "local[2]")
    assert full.spark == {"spark.sql.shuffle.partitions": "4", "spark.ui.enabled": "false"}
    assert full.sources == {"lake": {"delta": "/data/lake"}}
    assert full.run == {"every": "30 seconds"}
    assert full.deterministic_functions == ("net_price",)


@pytest.mark.parametrize("value", ['"net_price"', "[1]", "true"])
def test_declared_functions_are_a_list_of_names(tmp_path, value):
    with pytest.raises(ConfigError, match="deterministic_functions") as refused:
        project(tmp_path, f"deterministic_functions = {value}")
    assert refused.value.hint == 'write deterministic_functions = ["name"]'


def test_a_folder_without_the_file_is_no_project(tmp_path):
    with pytest.raises(ConfigError, match="is not a rollview project") as refused:
        read_project(tmp_path)
    assert refused.value.hint == "rollview init makes one"
    assert project_folder(tmp_path) is None


def test_a_project_is_found_from_below(tmp_path):
    project(tmp_path, "")
    (tmp_path / "views" / "daily").mkdir(parents=True)
    assert project_folder(tmp_path / "views" / "daily") == tmp_path.resolve()


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("warehouse = \nledger = 5", "line 1"),
        ("wharehouse = 'x'", 'unknown entry "wharehouse"'),
        ("warehouse = 5", '"warehouse" cannot be 5'),
        ("source = 'lake'", '"source" cannot be "lake"'),
        ("[source.lake]\nfolder = 'x'", 'unknown entry "source.lake.folder"'),
        ("[run]\nevery = 'often'", 'setting "run.every" cannot be "often"'),
    ],
)
def test_what_is_wrong_in_the_file_is_named(tmp_path, text, named):
    with pytest.raises(ConfigError) as refused:
        project(tmp_path, text)
    assert named in str(refused.value)
    assert "hint: " in str(refused.value)
