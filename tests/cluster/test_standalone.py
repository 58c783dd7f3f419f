"""The route on a real Spark cluster, with PostgreSQL as the store: a machine dies under load, and nothing is lost."""

import threading
import time
from contextlib import contextmanager

import pytest
from tests.cluster.spark import SparkCluster
from tests.pipeline.conftest import Deployment

from headrace.config import load_config
from headrace.pipeline.route import Route, RoutePaths


@pytest.fixture
def spark_cluster(tmp_path):
    folder = tmp_path / "cluster"
    folder.mkdir()
    cluster = SparkCluster(folder)
    try:
        cluster.start("one", "other")
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture
def deployment(tmp_path, postgres):
    with postgres.new_url() as url:
        made = Deployment(tmp_path, url)
        yield made
        made.close()


@contextmanager
def routing(deployment, cluster, **matching):
    folder = deployment.folder
    config = load_config(
        overrides={
            "pipeline.master": cluster.master,
            "pipeline.driver_host": "127.0.0.1",
            "pipeline.executor_memory": "512m",
            "pipeline.executor_cores": 1,
            "pipeline.node_cache": str(folder / "node"),
            "pipeline.restart_seconds": 0.1,
            "pipeline.min_events_per_task": 100,
            **{f"matching.{key}": value for key, value in matching.items()},
        }
    )
    paths = RoutePaths(str(folder / "log"), deployment.store_url, folder / "work")
    stop, ready = threading.Event(), threading.Event()
    route = Route(paths, deployment.outbox, config.pipeline, config.matching)
    thread = threading.Thread(target=route.run, args=(stop, ready.set))
    thread.start()
    try:
        while not ready.wait(0.5):
            assert thread.is_alive(), "the route ended while starting"
        yield
    finally:
        stop.set()
        thread.join(60)


def covers(deployment, end, seconds=240):
    deadline = time.monotonic() + seconds
    while deployment.outbox.covered()[0] < end:
        assert time.monotonic() < deadline, f"covered {deployment.outbox.covered()} of {end}"
        time.sleep(0.05)


@pytest.mark.timeout(900)
def test_a_machine_dies_under_load_and_nothing_is_lost_or_doubled(deployment, spark_cluster):
    even = deployment.subscribe({"exact": {"type": "even"}})
    everything = deployment.subscribe()
    stop, types = threading.Event(), ("even", "odd")

    def produce():
        while not stop.is_set():
            if deployment.writer.end - deployment.outbox.covered()[0] < 1000:
                deployment.append(*types * 10)
            time.sleep(0.02)

    producer = threading.Thread(target=produce)
    with routing(deployment, spark_cluster):
        (application,) = spark_cluster.state()["activeapps"]
        assert application["cores"] == 2, "one executor on each worker"
        producer.start()
        try:
            covers(deployment, 200)
            spark_cluster.kill("one")
            covers(deployment, deployment.writer.end + 200)
            spark_cluster.add_worker("third")
            covers(deployment, deployment.writer.end + 200)
        finally:
            stop.set()
            producer.join()
        covers(deployment, deployment.writer.end)
    pairs = deployment.pairs()
    assert len(pairs) == len(set(pairs))
    end = deployment.writer.end
    assert {each for each in pairs if each[1] == everything.id} == {(n, everything.id) for n in range(end)}
    assert {each for each in pairs if each[1] == even.id} == {(n, even.id) for n in range(0, end, 2)}
