"""rollview keeps materialized views up to date incrementally, on Apache Spark.

import rollview
wh = rollview.open("warehouse")
wh.add_source("lake", delta="/data/lake")
wh.sql("CREATE MATERIALIZED VIEW v AS SELECT …")
wh.refresh("v")
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rollview.errors import RollviewError

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from rollview.warehouse import Warehouse

__version__ = "0.1.0"
__all__ = ["RollviewError", "__version__", "open"]


def open(path: str | Path, spark: SparkSession | None = None, **options: Any) -> Warehouse:
    """Open the warehouse in a folder; it is made if there is none."""
    from rollview.warehouse import Warehouse

    return Warehouse(path, spark, **options)
