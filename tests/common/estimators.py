"""Every classifier that the package exports or that has a record: what the common tests run on."""

import importlib
import inspect
import pkgutil

from sklearn.svm import SVC

import consilience
from consilience._base import MultiViewClassifier
from consilience._estimators import last_step
from consilience.fusion import (
    BestViewClassifier,
    EarlyFusionClassifier,
    LateFusionClassifier,
    StackingFusionClassifier,
)
from consilience.kernel import MKLClassifier
from consilience.margin import (
    AMVMEDClassifier,
    MVMEDClassifier,
    SMVMEDClassifier,
    SMVMEDClassifierCV,
    SVM2KClassifier,
)
from consilience.methods import METHODS
from consilience.vote import MwMvC2Classifier


def public_modules():
    """The package and its public subpackages and modules."""
    yield consilience
    for info in pkgutil.walk_packages(consilience.__path__, "consilience."):
        if not any(part.startswith("_") for part in info.name.split(".")):
            yield importlib.import_module(info.name)


def public_estimators():
    """Name -> class, all classes with ``fit`` that a public module exports or a method uses."""
    exported = (
        getattr(module, name)
        for module in public_modules()
        for name in getattr(module, "__all__", ())
    )
    classes = {kind for kind in exported if inspect.isclass(kind) and hasattr(kind, "fit")}
    recorded = {type(last_step(method.build(None))) for method in METHODS.values()}
    classes |= {kind for kind in recorded if issubclass(kind, MultiViewClassifier)}
    return {kind.__name__: kind for kind in sorted(classes, key=lambda kind: kind.__name__)}


# not classifiers of several views: each has tests of its own
OTHER_ESTIMATORS = [
    "BinnedTreeClassifier",
    "FeatureSelector",
    "LandmarkProjector",
    "LaplacianCompletion",
    "ViewFeatureSelector",
    "ViewKernels",
    "ViewPreparer",
    "ViewTransformer",
]

# few rounds and folds, and seeds; a classifier that is not here is tested with its defaults
SETTINGS = {
    "BestViewClassifier": {"cv": 2},
    "BlockSPLSDAClassifierCV": {"keeps": [2, 5], "cv": 2},
    "ConformalClassifier": {"estimator": EarlyFusionClassifier(), "cv": 2},
    "ConsilienceClassifier": {"n_estimators": 10, "random_state": 0},
    "CooperativeClassifierCV": {"rhos": [0, 0.5], "n_penalties": 4, "cv": 2},
    "IBoostClassifier": {"n_estimators": 10},
    "MKLClassifier": {"tol": 1e-9},
    "MVLSVMClassifier": {"random_state": 0},
    "MVMLClassifier": {"random_state": 0},
    "MVWABClassifier": {"n_estimators": 10},
    "MuMBoClassifier": {"n_estimators": 10},
    "MwMvC2Classifier": {"random_state": 0},
    "RShareBoostClassifier": {"n_estimators": 10, "random_state": 0},
    "RobustPoolingClassifier": {
        "estimator": EarlyFusionClassifier(),
        "cv": 2,
        "random_state": 0,
    },
    "SMVMEDClassifierCV": {"cs": [0.5, 2], "alphas": [0, 0.5], "cv": 2},
    # a limit that is kept even where the problems are too small for an answer
    "SelectiveClassifier": {"estimator": EarlyFusionClassifier(), "cv": 2, "max_error": 0.99},
    "ShareBoostClassifier": {"n_estimators": 10},
    "SparseGroupLogisticClassifierCV": {"l1_ratios": [0.5], "n_penalties": 4, "cv": 2},
    "StackedPenalisedClassifier": {"n_penalties": 4, "cv": 2, "tol": 1e-14},
    "StackingFusionClassifier": {"cv": 2},
}

# other settings that take another path through the code
VARIANTS = {
    "MwMvC2Classifier(loss)": MwMvC2Classifier("trees", view_weights="loss"),
    "MVMEDClassifier(exponential)": MVMEDClassifier(prior="exponential"),
    "AMVMEDClassifier(two-step)": AMVMEDClassifier(form="two-step"),
    "SMVMEDClassifier(rbf)": SMVMEDClassifier(kernel="rbf", tol=1e-9),
    "SMVMEDClassifierCV(rbf)": SMVMEDClassifierCV(
        **SETTINGS["SMVMEDClassifierCV"], kernel="rbf", tol=1e-9
    ),
    "MVMEDClassifier(rbf)": MVMEDClassifier(kernel="rbf", tol=1e-9),
    "AMVMEDClassifier(rbf)": AMVMEDClassifier(form="two-step", kernel="rbf", tol=1e-9),
    "SVM2KClassifier(rbf)": SVM2KClassifier(kernel="rbf", tol=1e-9),
    "MKLClassifier(mean)": MKLClassifier("mean", tol=1e-9),
}

CLASSIFIERS = {
    **{
        name: kind(**SETTINGS.get(name, {}))
        for name, kind in public_estimators().items()
        if name not in OTHER_ESTIMATORS
    },
    **VARIANTS,
}

# without internal splits or draws: nothing may depend on the order of views, rows or labels
ORDER_FREE = {
    **{
        name: CLASSIFIERS[name]
        for name in (
            "EarlyFusionClassifier",
            "LateFusionClassifier",
            "SMVMEDClassifier",
            "MVMEDClassifier",
            "AMVMEDClassifier(two-step)",
            "SVM2KClassifier",
            "MVLSVMClassifier",  # fewer rows than landmarks, so that all of them are landmarks
            "SMVMEDClassifier(rbf)",
            "MVMLClassifier",
            "BlockSPLSDAClassifier",
            "CooperativeClassifier",
            "SparseGroupLogisticClassifier",
        )
    },
    "LateFusionClassifier(sum)": LateFusionClassifier(voting="sum"),
    "LateFusionClassifier(hard)": LateFusionClassifier(voting="hard"),
    "MKLClassifier(2)": MKLClassifier(2, tol=1e-9),
}

# margins and votes of components are no probabilities
ON_KERNELS = [
    name
    for name, model in CLASSIFIERS.items()
    if type(model).__module__.split(".")[1:2] in (["kernel"], ["landmark"], ["margin"])
]
NO_PROBABILITIES = [*ON_KERNELS, "BlockSPLSDAClassifier", "BlockSPLSDAClassifierCV"]

# the intercept of a hinge loss need not be unique, so rounding moves it more than the others (two
# solutions whose objectives agree to 1e-12 of their value have had intercepts 1e-4 apart), and
# weights of kernels at a gap of 1e-9 are known to about its root
TOLERANCE = {
    "SVM2KClassifier": 1e-3,
    "SVM2KClassifier(rbf)": 1e-5,
    "MKLClassifier(2)": 1e-4,
    # penalised regressions end at a duality gap
    "CooperativeClassifier": 1e-4,
    "CooperativeClassifierCV": 1e-4,
    "SparseGroupLogisticClassifier": 1e-4,
    "SparseGroupLogisticClassifierCV": 1e-4,
    "StackedPenalisedClassifier": 1e-4,
}

# takes tables with categories and single missing cells
TAKES_TABLES = ["ConsilienceClassifier"]

# for kernel views
PRECOMPUTED = {
    "ConsilienceClassifier": CLASSIFIERS["ConsilienceClassifier"],
    "LateFusionClassifier": LateFusionClassifier(SVC(kernel="precomputed"), voting="hard"),
    "BestViewClassifier": BestViewClassifier(SVC(kernel="precomputed"), cv=2),
    "StackingFusionClassifier": StackingFusionClassifier(SVC(kernel="precomputed"), cv=2),
    **{name: CLASSIFIERS[name] for name in ON_KERNELS},
}
