"""compare on a Dask cluster: the local result, workers that read the files, lost schedulers."""

import numpy as np
import pandas as pd
import pytest

from consilience import compare
from consilience.benchmark import cluster as cluster_module
from consilience.benchmark.cluster import ClusterLostError, DaskPool
from consilience.benchmark.pool import FinishedTask, WorkerSetup
from consilience.benchmark.problems import ProblemCache, ProblemFiles
from consilience.benchmark.protocol import Folds
from consilience.benchmark.tasks import Task
from consilience.cli import main
from consilience.comparison import execution
from consilience.comparison.inputs import read_files
from consilience.tables import parse_files

distributed = pytest.importorskip("distributed")

pytestmark = pytest.mark.filterwarnings("ignore")  # of dask


def make_tables(folder, n=60, suffix="parquet"):
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    a = pd.DataFrame(rng.normal(size=(n, 3)) + y[:, None], columns=["a1", "a2", "a3"])
    b = pd.DataFrame(rng.normal(size=(n, 2)) - y[:, None], columns=["b1", "b2"])
    a.insert(0, "id", [f"s{k}" for k in range(n)])
    b.insert(0, "id", a["id"])
    a["y"] = np.where(y, "case", "control")
    paths = [folder / f"a.{suffix}", folder / f"b.{suffix}"]
    for frame, path in zip((a, b), paths, strict=True):
        frame.to_parquet(path) if suffix == "parquet" else frame.to_csv(path, index=False)
    return [f"a={paths[0]}", f"b={paths[1]}"]


@pytest.fixture(scope="module")
def client():
    """One worker on a thread of this process, on a loopback socket; closed in the end."""
    options = {"n_workers": 1, "threads_per_worker": 1, "processes": False}
    with (
        distributed.LocalCluster(
            **options, host="127.0.0.1", protocol="tcp://", dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


SETTINGS = {"methods": ["Early fusion"], "cv": 2, "repeats": 1}


def test_python_gives_the_local_result(client):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    data = {"a": rng.normal(size=(60, 3)) + y[:, None], "b": rng.normal(size=(60, 2))}
    far = compare(data, y, client=client, **SETTINGS)
    near = compare(data, y, **SETTINGS)
    first, second = (
        each.scores[each.scores["metric"].isin(["accuracy", "log_loss"])] for each in (far, near)
    )
    assert len(first) > 0
    pd.testing.assert_frame_equal(first, second)
    assert far.best_estimator_.predict(data).shape == (60,)


def test_workers_read_files_that_they_reach(client, tmp_path, monkeypatch, capsys):
    files, setups = make_tables(tmp_path), []

    class Watched(DaskPool):
        def __init__(self, client, setup):
            setups.append(setup)
            super().__init__(client, setup)

    monkeypatch.setattr(execution, "DaskPool", Watched)
    arguments = ["compare", *files, "--target", "y", "--on", "id", "--methods", "Early fusion"]
    arguments += ["--cv", "2", "--repeats", "1", "--quiet", "--out", str(tmp_path / "out")]
    with pytest.raises(SystemExit) as end:
        main([*arguments, "--scheduler", client.scheduler.address])
    assert end.value.code == 0
    (problem,) = setups[0].problems.values()
    assert isinstance(problem, ProblemFiles)
    assert all(file.path.is_absolute() for file in problem.files)
    assert "Early fusion" in capsys.readouterr().out
    # where a worker does not see the files, it gets the data
    read = read_files(parse_files(files), target="y", on="id")
    (tmp_path / "a.parquet").unlink()
    assert execution._problem_for_workers(read, client) is read.problem


def test_other_files_on_a_worker_are_an_error(tmp_path):
    files = make_tables(tmp_path)
    source = read_files(parse_files(files), target="y", on="id").source
    assert source.are_readable()
    cache = ProblemCache({"mine": source})
    assert len(cache.get("mine", {}).target) == 60
    assert cache.get("mine", {}) is cache.get("mine", {})
    make_tables(tmp_path, n=58)
    with pytest.raises(ValueError, match="not those of the study"):
        source.load()


def test_no_scheduler_at_the_address(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("consilience.cli.common.CONNECTION_SECONDS", 0.5)
    with pytest.raises(SystemExit) as end:
        main(["compare", "digits", "--methods", "Mono", "--scheduler", "tcp://127.0.0.1:9"])
    assert end.value.code == 2
    message = capsys.readouterr().err.strip()
    assert message.startswith("consilience: --scheduler tcp://127.0.0.1:9: no Dask scheduler")
    assert "\n" not in message


class StubFuture:
    def __init__(self, status, value=None):
        self.status, self.value = status, value

    def done(self):
        return self.status != "pending"

    def result(self):
        return self.value


class StubClient:
    """A client whose futures and connection the test decides on."""

    def __init__(self, *futures):
        self.status, self.scheduler, self.futures = "running", None, list(futures)
        self.n_scattered = 0

    def scatter(self, setup, **_):
        self.n_scattered += 1
        return setup

    def nthreads(self):
        if self.status != "running":
            raise OSError("Timed out")
        return {"worker": 1}

    def submit(self, *_, **__):
        return self.futures.pop(0)

    def cancel(self, *_, **__):
        raise AssertionError("not without a connection")


def make_task():
    return Task(data="mine", method="Mono", split=Folds(n=2), index=0)


def test_a_lost_scheduler_is_one_sentence():
    client = StubClient(StubFuture("pending"))
    pool = DaskPool(client, WorkerSetup())
    pool.submit(make_task())
    assert pool.wait(0.0) == []
    client.status = "connecting"
    for call in (lambda: pool.wait(0.0), pool.n_free_slots, lambda: pool.submit(make_task())):
        with pytest.raises(ClusterLostError, match=r"cannot be reached any more; run the same"):
            call()
    pool.close()


def test_a_connection_that_breaks_is_one_sentence(monkeypatch):
    monkeypatch.setattr(cluster_module, "RETRY_SECONDS", 0.0)
    client = StubClient()
    pool = DaskPool(client, WorkerSetup())
    client.nthreads = lambda: (_ for _ in ()).throw(OSError("Stream is closed"))
    with pytest.raises(ClusterLostError, match="cannot be reached any more"):
        pool.n_free_slots()


def test_data_lost_with_all_workers_are_sent_again():
    task = make_task()
    done = FinishedTask(task, None, 0.0, 0.0)
    client = StubClient(StubFuture("cancelled"), StubFuture("finished", done))
    pool = DaskPool(client, WorkerSetup())
    pool.submit(task)
    assert pool.wait(0.0) == []
    assert pool.wait(0.0) == [done]
    assert client.n_scattered == 2
    assert cluster_module.MAX_LOSSES >= 1


def test_a_worker_lost_while_the_data_are_sent(monkeypatch):
    monkeypatch.setattr(cluster_module, "RETRY_SECONDS", 0.0)

    class Flaky(StubClient):
        n_failures = 1

        def scatter(self, setup, **settings):
            if self.n_failures:
                self.n_failures -= 1
                raise KeyError("tcp://127.0.0.1:1")
            return super().scatter(setup, **settings)

    client = Flaky()
    assert DaskPool(client, WorkerSetup()).n_free_slots() == 2
    assert client.n_scattered == 1
    client.n_failures = 99
    with pytest.raises(ClusterLostError):
        DaskPool(client, WorkerSetup())


def test_external_cohort_is_scored(tmp_path, capsys):
    files = make_tables(tmp_path, suffix="csv")
    arguments = ["compare", *files, "--target", "y", "--on", "id", "--methods", "Early fusion"]
    arguments += ["--cv", "2", "--repeats", "1", "--quiet", "--jobs", "1"]
    (tmp_path / "new").mkdir()
    new = make_tables(tmp_path / "new", n=58, suffix="csv")
    tests = [part for file in new for part in ("--test", file)]
    with pytest.raises(SystemExit) as end:
        main([*arguments, *tests, "--out", str(tmp_path / "out")])
    assert end.value.code == 0
    assert "on 58 samples of" in capsys.readouterr().out
