"""BLAS threads: limited while estimators work, restored afterwards."""

import threading

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_limits

from consilience import MultiViewData
from consilience._core import blas_threads
from consilience._core.blas_threads import one_blas_thread, threads_for_product
from consilience.fusion import EarlyFusionClassifier
from consilience.margin import SMVMEDClassifier


def counts():
    """Threads of every BLAS library of the process."""
    return {
        library.num_threads
        for library in ThreadpoolController().select(user_api="blas").lib_controllers
    }


@pytest.fixture(autouse=True)
def two_threads():
    with threadpool_limits(2, user_api="blas"):
        if counts() != {2}:
            pytest.skip("BLAS has no threads here")
        yield
        assert counts() == {2}


def test_limit_is_restored_by_the_outermost_context():
    with one_blas_thread():
        assert counts() == {1}
        with one_blas_thread():
            assert counts() == {1}
        assert counts() == {1}
    assert counts() == {2}


def test_limit_is_restored_after_an_error():
    with pytest.raises(RuntimeError), one_blas_thread():
        raise RuntimeError
    assert counts() == {2}


def test_the_thread_that_came_first_restores_the_limit():
    entered, leave = threading.Event(), threading.Event()

    def other():
        with one_blas_thread():
            entered.set()
            leave.wait(10)

    thread = threading.Thread(target=other)
    with one_blas_thread():
        thread.start()
        assert entered.wait(10)
        leave.set()
        thread.join()
        assert counts() == {1}
    assert counts() == {2}


def test_many_threads_leave_nothing_behind():
    def work():
        for _ in range(20):
            with one_blas_thread(), threads_for_product(10_000, 10_000, 100):
                pass

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    work()
    for thread in threads:
        thread.join()
    assert counts() == {2}


def test_large_products_keep_their_threads():
    with one_blas_thread():
        with threads_for_product(100, 100, 100):
            assert counts() == {1}
        with threads_for_product(10_000, 10_000, 100):
            assert counts() == {2}
        assert counts() == {1}


def test_large_products_of_worker_threads_do_not():
    seen = []

    def work():
        with threads_for_product(10_000, 10_000, 100):
            seen.append(counts())

    with one_blas_thread():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert seen == [{1}]


def test_large_products_while_another_thread_works_do_not():
    entered, leave = threading.Event(), threading.Event()

    def other():
        with one_blas_thread():
            entered.set()
            leave.wait(10)

    thread = threading.Thread(target=other)
    with one_blas_thread():
        thread.start()
        assert entered.wait(10)
        with threads_for_product(10_000, 10_000, 100):
            assert counts() == {1}
    leave.set()
    thread.join()


def test_fit_and_predict_run_with_one_thread(monkeypatch):
    seen = {}
    for name in ("_fit", "_scores"):
        original = getattr(SMVMEDClassifier, name)

        def watched(self, *args, name=name, original=original):
            seen[name] = counts()
            return original(self, *args)

        monkeypatch.setattr(SMVMEDClassifier, name, watched)
    X = np.random.default_rng(0).normal(size=(20, 4))
    data, y = MultiViewData({"a": X[:, :2], "b": X[:, 2:]}), np.arange(20) % 2
    SMVMEDClassifier().fit(data, y).predict(data)
    assert seen == {"_fit": {1}, "_scores": {1}}


def test_limit_is_restored_after_a_fit_that_fails():
    with pytest.raises(ValueError):
        EarlyFusionClassifier().fit(np.full((3, 2), np.inf), [0, 1, 0])
    assert counts() == {2}
    assert not blas_threads._working
