"""What every layer of the tests shares."""

import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

sys.path.append(str(Path(__file__).parent))  # spark_session.py
sys.path.append(str(Path(__file__).parent / "model"))  # the specifications, as modules

# The same examples on every run, so that a red run can be repeated; with ROLLVIEW_EXAMPLES, which
# multiplies their number, new ones each time.
settings.register_profile(
    "rollview",
    deadline=None,
    derandomize="ROLLVIEW_EXAMPLES" not in os.environ,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("rollview")


HISTORIES = {
    "test_bags", "test_golden", "test_golden_sabotage", "test_random_views", "test_reduce",
    "test_rolled", "test_sharing", "test_structure",
}  # fmt: skip


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is left out of `make test-quick`."""
    for item in items:
        if item.path.parent.name == "postgresql" or "[postgres" in item.name:
            item.add_marker(pytest.mark.server)
        if item.path.stem in HISTORIES:
            item.add_marker(pytest.mark.histories)
