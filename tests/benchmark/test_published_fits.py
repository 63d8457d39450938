"""Fits that were published are continued by a later run, on another machine too."""

import gzip

import pytest

from benchmark.studies import SUITE
from benchmark.test_publish import outcome_of
from consilience.benchmark import plan
from consilience.benchmark.published_fits import fits_path, reuse_fits, write_fits
from consilience.benchmark.store import Store
from consilience.benchmark.suite import parse_suite
from consilience.benchmark.work import Outcome
from consilience.cli import suites as bench_command


def published(path, failing=()):
    """Tasks of a study, the fits of all but the last three of which are published."""
    tasks, _ = plan(parse_suite(SUITE, "small"))
    with Store(":memory:") as store:
        store.register_runner()
        for number, task in enumerate(tasks[:-3]):
            store.add(task, outcome_of(task, failing), 1000.0 * number, 2.5)
        environments = store.environments()
        environments[1] |= {"numpy": "1.0", "started": "2020-02-02T02:02:02+00:00"}
        write_fits(path, store.records(), environments)
        return tasks, list(store.records())


def test_reused_fits_are_those_that_were_published(tmp_path):
    tasks, records = published(tmp_path / "fits" / "small.jsonl.gz")
    with Store(tmp_path / "results.sqlite") as store:
        store.register_runner()
        store.add(tasks[0], Outcome(status="done", metrics={"accuracy": 0.25}), 0.0, 1.0)
        assert reuse_fits(tmp_path / "fits" / "small.jsonl.gz", tasks, store) == len(records) - 1
        reused = {record.task_hash: record for record in store.records()}
        assert len(reused) == len(records)
        assert reused[records[0].task_hash].outcome.metrics == {"accuracy": 0.25}  # its own is kept
        for record in records[1:]:
            other = reused[record.task_hash]
            assert (other.task, other.outcome) == (record.task, record.outcome)
            assert (other.started, other.seconds) == (record.started, record.seconds)
            machine = store.environments()[other.runner]
            assert (machine["numpy"], machine["started"][:4]) == ("1.0", "2020")
        assert reuse_fits(tmp_path / "fits" / "small.jsonl.gz", tasks, store) == 0


def test_failed_fits_are_not_published(tmp_path):
    tasks, records = published(tmp_path / "fits.gz", failing=["MwMvC2"])
    n_failed = sum(not record.done for record in records)
    with Store(":memory:") as store:
        assert reuse_fits(tmp_path / "fits.gz", tasks, store) == len(records) - n_failed
    assert n_failed == 1


def test_fits_of_another_form_of_the_suite_are_not_used(tmp_path):
    published(tmp_path / "fits.gz")
    tasks, _ = plan(parse_suite(SUITE.replace("train_size = 60", "train_size = 61"), "small"))
    with Store(":memory:") as store:
        assert reuse_fits(tmp_path / "fits.gz", tasks, store) == 0


def test_the_same_fits_are_the_same_file(tmp_path):
    published(tmp_path / "a.gz")
    published(tmp_path / "b.gz")
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[:-20],
        lambda content: content[:40] + b"\0\0\0" + content[43:],
        lambda content: b"no gzip",
        lambda content: gzip.compress(b""),
        lambda content: gzip.compress(b"{}\n" + gzip.decompress(content).split(b"\n", 1)[1]),
        lambda content: gzip.compress(gzip.decompress(content).replace(b"done", b'do"e')),
        lambda content: gzip.compress(gzip.decompress(content).replace(b"T00:", b"T99:")),
        lambda content: gzip.compress(
            gzip.decompress(content).replace(b'"started":"2020', b'"a":"')
        ),
    ],
)
def test_damaged_files_are_named_and_nothing_is_added(tmp_path, damage):
    path = tmp_path / "fits.gz"
    tasks, _ = published(path)
    path.write_bytes(damage(path.read_bytes()))
    with Store(":memory:") as store:
        with pytest.raises(ValueError, match=r"fits\.gz has no published fits that can be read"):
            reuse_fits(path, tasks, store)
        assert not store.statuses()


def test_bench_continues_what_was_published(tmp_path, monkeypatch, serially, capsys):
    (tmp_path / "small.toml").write_text(SUITE)
    monkeypatch.chdir(tmp_path)
    run, run_tasks = [], bench_command.run_tasks

    def counted(tasks, *args, **options):
        run.append(len(tasks))
        return run_tasks(tasks, *args, **options)

    monkeypatch.setattr(bench_command, "run_tasks", counted)
    options = {"quiet": True, "results": tmp_path / "tables"}
    bench_command.bench("small.toml", out=tmp_path / "first", splits=1, **options)
    bench_command.bench("small.toml", out=tmp_path / "second", splits=2, reuse=True, **options)
    # a part of the suite does not forget the other fits
    part = {"only": ["method=MwMvC2"], "splits": 1}
    bench_command.bench("small.toml", out=tmp_path / "third", reuse=True, **part, **options)
    bench_command.bench("small.toml", out=tmp_path / "fourth", splits=2, reuse=True, **options)
    bench_command.bench("small.toml", out=tmp_path / "fifth", **part, **options)
    assert run == [3, 3, 0, 0, 1]
    lines = gzip.decompress(fits_path(tmp_path / "tables", "small").read_bytes()).splitlines()
    assert len(lines) == 1 + 1  # without --reuse those of this run only
    assert "3 fits are taken from" in capsys.readouterr().err
    with pytest.raises(ValueError, match="--reuse needs --results"):
        bench_command.bench("small.toml", reuse=True)
