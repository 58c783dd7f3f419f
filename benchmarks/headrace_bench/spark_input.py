"""What Spark's tasks read and how long they computed, from Spark's own counts."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


@dataclass(slots=True)
class Input:
    """The sum over all tasks. Python workers' processor time isn't in it."""

    bytes: int = 0
    cpu_seconds: float = 0.0


def count_every_read(spark: SparkSession) -> None:
    """Have Parquet read in the tasks' own threads: Spark counts the bytes of no others."""
    settings = spark.sparkContext._jsc.hadoopConfiguration()  # noqa: SLF001  there is no public way to them
    settings.set("parquet.hadoop.vectored.io.enabled", "false")


@contextmanager
def measured(spark: SparkSession) -> Iterator[Input]:
    """Count what this thread's queries read; the figures are there once the block has ended."""
    figures, group = Input(), str(uuid4())
    context = spark.sparkContext
    context.setJobGroup(group, "measured")
    try:
        yield figures
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]  # None removes it
    java = context._jsc.sc()  # noqa: SLF001  PySpark doesn't show the counts of its stages
    java.listenerBus().waitUntilEmpty()
    tracker = context.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
    for stage in {stage for job in jobs if job is not None for stage in job.stageIds}:
        told = java.statusStore().lastStageAttempt(stage)
        figures.bytes += told.inputBytes()
        figures.cpu_seconds += told.executorCpuTime() / 1e9
