"""Kinds of synthetic problems: no plain baseline on all views side by side may be clearly better.

The full study is ``benchmarks/default.py families``; here are those that were hardest.
"""

import importlib.util
import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier

from consilience import ConsilienceClassifier, MultiViewData
from consilience.fusion import EarlyFusionClassifier

FULL = bool(int(os.environ.get("CONSILIENCE_TEST_ALL", "0")))
PATH = Path(__file__).parents[2] / "benchmarks" / "_families.py"
HARDEST = ["rules in wide views", "twelve views", "tables, balanced"]
# a narrow strong view beside a wide mixed one, with a rare class
FAILURE = ["strong bands beside wide", "strong shift beside wide", "strong counts beside wide"]
DRAWS = 5 if FULL else 3

if not PATH.exists():
    pytest.skip("the benchmarks are not part of this distribution", allow_module_level=True)
spec = importlib.util.spec_from_file_location("_families", PATH)
families = importlib.util.module_from_spec(spec)
spec.loader.exec_module(families)


def draws(name):
    for seed in range(DRAWS):
        views, y = families.FAMILIES[name](1100, np.random.RandomState(seed + 7))
        data = MultiViewData(views)
        yield seed, data[:100], y[:100], data[100:], y[100:]


@pytest.mark.parametrize("name", families.FAMILIES if FULL else [*HARDEST, *FAILURE])
def test_no_plain_baseline_is_clearly_better(name):
    scores = []
    for seed, train, y_train, test, y in draws(name):
        models = [
            ConsilienceClassifier(100, random_state=seed),
            EarlyFusionClassifier(ExtraTreesClassifier(100, random_state=seed)),
            EarlyFusionClassifier(),
        ]
        scores.append([model.fit(train, y_train).score(test, y) for model in models])
    ours, *others = np.mean(scores, axis=0)
    # one point, and one more for the luck of so few draws
    assert ours > max(others) - 0.02


@pytest.mark.parametrize("name", FAILURE)
def test_the_pool_is_about_as_good_as_its_best_member(name):
    pooled, alone = [], []
    for seed, train, y_train, test, y in draws(name):
        model = ConsilienceClassifier(100, random_state=seed).fit(train, y_train)
        pooled.append(model.score(test, y))
        answers = model.classes_[model.member_decision_function(test).argmax(axis=2)]
        alone.append((answers == y).mean(axis=1))
    assert np.mean(pooled) > np.mean(alone, axis=0).max() - 0.01
