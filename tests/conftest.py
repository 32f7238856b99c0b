"""What every layer of the tests shares."""

import os
import sys
from pathlib import Path

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
