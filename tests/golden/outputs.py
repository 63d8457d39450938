"""Outputs of every public estimator on small fixed data, for the numbers kept in ``frozen/``.

``python tests/golden/freeze.py`` writes them; ``test_frozen.py`` computes them again. They change
only when a method is meant to change: say so in the changelog and freeze again.
"""

import csv
import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel

from benchmark.studies import SUITE, run_in_process
from common.estimators import CLASSIFIERS, PRECOMPUTED
from comparison.stories import patients
from consilience import BinnedTreeClassifier, MultiViewData, ViewTransformer
from consilience.distributed import BlockSequence
from consilience.kernel import LaplacianCompletion
from consilience.landmark import LandmarkProjector, MVLSVMClassifier
from consilience.margin import SMVMEDClassifier

N_TRAIN, N_TEST, WIDTHS = 72, 18, {"a": 5, "b": 4, "c": 6}
OUTPUTS = ("decision_function", "predict_proba")
KERNEL_TOL = 1e-9  # of SMO
CASES = ("dense", "sparse", "missing", "weights", "kernel", "blocks")
TAKES_BLOCKS = {
    "MVLSVMClassifier": MVLSVMClassifier(n_landmarks=20, gamma="auto", random_state=0),
    "SMVMEDClassifier": SMVMEDClassifier(),
}


def _columns(seed=3):
    rng = np.random.RandomState(seed)
    y = np.arange(N_TRAIN + N_TEST) % 3
    views = {
        name: rng.randn(len(y), d) + 1.2 * np.eye(3, d, k=v)[y]
        for v, (name, d) in enumerate(WIDTHS.items())
    }
    return views, y, rng


def make_case(case):
    """Training samples, labels, weights (or None) and test samples of one kind of input."""
    views, y, rng = _columns()
    weight = rng.randint(1, 4, size=N_TRAIN) / 2.0
    present = rng.rand(len(y), len(views)) > 0.25
    present[~present.any(axis=1), 1] = True
    if case == "sparse":
        views = {name: sp.csr_array(np.where(X > 0.7, X, 0.0)) for name, X in views.items()}
    kinds = None
    if case == "kernel":
        views = {name: rbf_kernel(X, gamma=0.2) for name, X in views.items()}
        kinds = dict.fromkeys(views, "kernel")
    data = MultiViewData(views, present=present if case == "missing" else None, kinds=kinds)
    weight = weight if case == "weights" else None
    return data[:N_TRAIN], y[:N_TRAIN], weight, data[N_TRAIN:]


def estimators_of(case):
    """Name -> classifier, those that take this kind of input."""
    if case == "blocks":
        return TAKES_BLOCKS
    models = PRECOMPUTED if case == "kernel" else CLASSIFIERS
    return {name: _with_frozen_settings(model, case) for name, model in models.items()}


def _with_frozen_settings(model, case):
    """The settings the numbers were computed with, where the common tests have others."""
    params = model.get_params(deep=False)
    if case == "kernel" and type(model).__module__.startswith("consilience.margin"):
        # the default leaves more room than rounding does
        model = clone(model).set_params(tol=KERNEL_TOL)
    if isinstance(model, MVLSVMClassifier):
        return clone(model).set_params(gamma="auto")
    if "cv" in params:
        return clone(model).set_params(cv=3 if "cs" in params else type(model)().cv)
    return model


def classifier_outputs(model, case):
    """Name of a method -> its output on the test samples."""
    data, y, weight, test = make_case(case)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # solvers that stop at their limit are compared as well
        if case == "blocks":
            model.fit(BlockSequence.cut(data, y, rows=25))
        else:
            model.fit(data, y, sample_weight=weight)
        methods = [method for method in OUTPUTS if hasattr(model, method)]
        return {method: getattr(model, method)(test) for method in methods}


def other_outputs():
    """Name -> output of the estimators that are no multi-view classifiers."""
    data, y, _, test = make_case("dense")
    views = data.to_array(), test.to_array()
    tree = BinnedTreeClassifier(max_depth=4, random_state=0).fit(views[0], y)
    projector = LandmarkProjector(n_landmarks=10, gamma="auto", random_state=0).fit(data)
    kernels = make_case("kernel")[0]
    present = make_case("missing")[0].present
    holed = MultiViewData(
        {name: kernels[name][:, :N_TRAIN] for name in kernels.view_names},
        present=present,
        kinds=dict.fromkeys(kernels.view_names, "kernel"),
    )
    completed = LaplacianCompletion().fit_transform(holed)
    from sklearn.decomposition import PCA

    components = ViewTransformer(PCA(2, svd_solver="full")).fit(data).transform(test)
    return {
        "BinnedTreeClassifier|predict_proba": tree.predict_proba(views[1]),
        "LandmarkProjector|transform": projector.transform(test),
        "LaplacianCompletion|fit_transform": np.hstack([K for _, K in completed.items()]),
        "ViewTransformer|transform": np.hstack([X for _, X in components.items()]),
    }


METHODS = "Consilience,Late fusion,MwMvC2,MVL-SVM,SMVMED"


def study_scores(folder):
    """Accuracy and log loss by (study, method, split) of one comparison and one suite."""
    patients(folder)
    (folder / "suite.toml").write_text(SUITE)
    files = [folder / f"train_{name}.csv" for name in ("rna", "protein", "labels")]
    options = ["--on", "patient", "--target", "subtype", "--methods", METHODS]
    options += ["--cv", "3", "--repeats", "1", "--out", folder / "study", "--quiet"]
    run_in_process("compare", *files, *options)
    run_in_process("bench", folder / "suite.toml", "--out", folder / "bench", "--quiet")
    scores = {}
    for name in ("study", "bench"):
        with (folder / name / "results.csv").open() as lines:
            for row in csv.DictReader(lines):
                values = [row["accuracy"], row.get("log_loss") or "nan"]
                scores[f"{name}|{row['method']}|{row['split']}"] = np.array(values, float)
    return scores
