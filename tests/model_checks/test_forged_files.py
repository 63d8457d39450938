"""Forged model files are refused, or their models predict finite numbers; nothing crashes."""

import pytest

from common.estimators import public_estimators
from conftest import FULL
from consilience.io import save
from model_checks import forge, runner, zoo

N_CASES = 2200 if FULL else 80
N_CASES_WITHOUT_TRIALS = 1000 if FULL else 20


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Name -> (content of an honest file, rows to predict)."""
    path = tmp_path_factory.mktemp("honest") / "m.skops"
    models = {}
    names = None if FULL else zoo.FEW
    for name, (model, rows) in zoo.fitted(names).items():
        save(model, path)
        models[name] = path.read_bytes(), rows
    return models


def cases(files, n_cases, seed):
    edits = {name: forge.edits(content) for name, (content, _) in files.items()}
    return runner.sample(edits, n_cases, seed)


def test_forged_files_are_refused_or_predict_finite_numbers(tmp_path, files):
    counts, wrong = runner.run(tmp_path, files, cases(files, N_CASES, seed=0))
    assert wrong == []
    assert counts["refused"] > N_CASES / 5
    assert counts["finite"] > N_CASES / 5
    assert counts["same"] + counts["other input"] < N_CASES / 5


def test_forged_files_without_trials_do_not_crash_or_hang(tmp_path, files):
    """Predictions may raise, but nothing else may happen."""
    chosen = cases(files, N_CASES_WITHOUT_TRIALS, seed=1)
    assert runner.run(tmp_path, files, chosen, trials=False)[1] == []


def test_every_public_estimator_is_forged():
    def parts(value):
        if hasattr(value, "get_params"):
            yield type(value).__name__
            for each in value.get_params(deep=True).values():
                yield from parts(each)

    forged = {name for model, _ in zoo.estimators().values() for name in parts(model)}
    forged.update(parts(zoo.frame_model()[0]))
    assert set(public_estimators()) - forged == set()
