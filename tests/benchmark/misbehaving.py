"""Methods that fail in every way a method can."""

import os
import signal
import time
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from consilience.benchmark.estimator_specs import estimator_spec
from consilience.methods import CloneWithSeed, Method


class Misbehaving(ClassifierMixin, BaseEstimator):
    def __init__(self, how="never", once="", random_state=None):
        self.how = how
        self.once = once  # a file that says it has happened already
        self.random_state = random_state

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        if self.once:
            if Path(self.once).exists():
                return self
            Path(self.once).write_text(str(os.getpid()))
        getattr(self, f"_{self.how}")()
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])

    def _never(self):
        pass

    def _raise(self):
        raise ValueError("cannot do this")

    def _kill(self):
        os.kill(os.getpid(), signal.SIGKILL)

    def _segfault(self):
        os.kill(os.getpid(), signal.SIGSEGV)

    def _exit(self):
        os._exit(7)

    def _hang(self):
        time.sleep(600)

    def _greed(self):
        self.taken_ = np.ones(2**25)  # 256 MiB

    def _glut(self):
        self.taken_ = np.ones(2**29)  # 4 GiB

    def _print(self):
        print("noise on the way to the parent")
        os.write(1, b"more noise, past Python\n")


MISBEHAVING = {
    how: Method(how, how, "test", CloneWithSeed(Misbehaving(how)), preparation="none")
    for how in ("never", "raise", "kill", "segfault", "exit", "hang", "greed", "glut", "print")
}
SPECS = {how: estimator_spec(method.build(None)) for how, method in MISBEHAVING.items()}
