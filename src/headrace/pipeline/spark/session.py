"""The Spark session, and every setting that was found to matter, with its reason."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

from pyspark import SparkContext
from pyspark.sql import SparkSession

from headrace.pipeline.spark.class_archive import ClassArchive, cache_folder
from headrace.pipeline.spark.cluster import check_master, cluster_settings, given_options, is_local
from headrace.pipeline.spark.java import find_java

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.pipeline.settings import PipelineSettings

_SETTINGS = {
    # One process on one machine: nobody looks at Spark's own pages, and its port may be taken.
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    # Python workers over Unix sockets: 1,000 rows through mapInArrow in 12 ms instead of 60.
    "spark.python.unix.domain.socket.enabled": "true",
    # The default checkpoint writer forks processes twice per batch (87 of 102 ms). The checkpoint carries no
    # truth here, so the plain file system is enough.
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    # Hadoop sets the rights of files itself, whatever the process's umask.
    "spark.hadoop.fs.permissions.umask-mode": "077",
    # The source's latestOffset waits for events by itself; Spark may ask again at once.
    "spark.sql.streaming.pollingDelay": "1ms",
    # Old checkpoint files and progress reports are of no use to anyone.
    "spark.sql.streaming.minBatchesToRetain": "2",
    "spark.sql.streaming.numRecentProgressUpdates": "2",
    # A stop must not wait for a source that waits.
    "spark.sql.streaming.stopTimeout": "5s",
    # Nothing is shuffled; one task per partition of the source.
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # A page of the archive that isn't what was written is an error, not an answer.
    "spark.hadoop.parquet.page.verify-checksum.enabled": "true",
    # Whenever a core is free and a batch waits, the batch gets it before any job of a user does.
    "spark.scheduler.mode": "FAIR",
}
ROUTE_POOL, JOBS_POOL = "route", "jobs"
_POOLS = f"""<allocations>
  <pool name="{ROUTE_POOL}"><minShare>1000000</minShare><weight>1000</weight></pool>
  <pool name="{JOBS_POOL}"><minShare>0</minShare><weight>1</weight></pool>
</allocations>
"""
# A deep plan's serialisation overflows the default stack when a query stops. The heap begins small: by default it
# takes a 64th of the machine's memory, and fills that before the first collection.
_JAVA_OPTIONS = "-Xss8m -Xms64m -XX:+UseSerialGC -XX:TieredStopAtLevel=1"


# How long the JVM may take to end; the first time it writes its class archive.
_END_SECONDS = 30.0


class Session:
    """A running Spark; one per process, because PySpark knows only one JVM."""

    def __init__(self, settings: PipelineSettings, work_folder: Path) -> None:
        work_folder.mkdir(parents=True, exist_ok=True)
        self.java = find_java(work_folder)
        self._archive = ClassArchive(self.java, cache_folder())
        os.environ["JAVA_HOME"] = str(self.java.home)
        os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
        pools = (work_folder / "pools.xml").absolute()
        pools.write_text(_POOLS)
        builder = SparkSession.builder.appName("headrace").master(settings.master)
        own = {
            "spark.driver.memory": settings.driver_memory,
            "spark.driver.extraJavaOptions": f"{_JAVA_OPTIONS} {self._archive.options()}",
            "spark.local.dir": str(work_folder / "spark"),
            "spark.sql.warehouse.dir": str(work_folder / "warehouse"),
            "spark.scheduler.allocation.file": pools.as_uri(),
        }
        if is_local(settings.master):  # nobody else may talk to the driver
            os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
            own |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
        else:
            check_master(settings.master)
            own |= cluster_settings(settings)
        for key, value in (_SETTINGS | own | given_options(settings)).items():
            builder = builder.config(key, value)
        self.spark = builder.getOrCreate()

    @property
    def is_running(self) -> bool:
        """Whether the JVM lives."""
        gateway = SparkContext._gateway  # noqa: SLF001
        return gateway is not None and gateway.proc.poll() is None

    def stop(self) -> None:
        """Stop Spark and wait for the JVM's end, so that a new session of this process starts a new one."""
        if self.is_running:
            self.spark.stop()
        gateway = SparkContext._gateway  # noqa: SLF001  PySpark has no public way to end its JVM
        if gateway is None:
            return
        SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001
        process = gateway.proc
        gateway.shutdown()
        process.stdin.close()
        try:
            process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        else:
            self._archive.keep()


def use_pool(spark: SparkSession, pool: str) -> None:
    """Let what this thread asks of Spark share the cores as the pool may."""
    spark.sparkContext.setLocalProperty("spark.scheduler.pool", pool)
