"""Small fitted models of every kind that a model file can contain, and rows to predict."""

import warnings
from unittest.mock import patch

import numpy as np
import pandas as pd
import pyarrow as pa
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC, LinearSVC, NuSVC
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from common.estimators import CLASSIFIERS
from consilience import BinnedTreeClassifier, ConsilienceClassifier, MultiViewData, ViewTransformer
from consilience._default import _classifier
from consilience.datasets import make_multiview_classification
from consilience.fusion import (
    BestViewClassifier,
    EarlyFusionClassifier,
    LateFusionClassifier,
    StackingFusionClassifier,
)
from consilience.inspection import ViewFeatureSelector
from consilience.kernel import MKLClassifier, MVMLClassifier
from consilience.landmark import LandmarkProjector, MVLSVMClassifier
from consilience.margin import (
    MVMEDClassifier,
    SMVMEDClassifier,
    SMVMEDClassifierCV,
    SVM2KClassifier,
)
from consilience.methods import METHODS
from consilience.tables import ColumnRole, FeatureSelector, Table, TableModel, join_tables
from consilience.trust import RobustPoolingClassifier
from consilience.views import ViewPreparer
from consilience.vote import MwMvC2Classifier

N_SAMPLES = 48
SMALL = {"n_estimators": 3, "max_iter": 3}  # sizes of ensembles


def problems():
    """Name -> (X, y): complete dense views; missing and sparse views, three classes; kernels; …"""
    data, y = make_multiview_classification(N_SAMPLES, n_views=3, n_features=3, random_state=0)
    present = np.ones((N_SAMPLES, 3), dtype=bool)
    present[:6, 0] = present[10:15, 1] = False
    a, b, c = (np.asarray(data[name]) for name in data.view_names)
    gaps = MultiViewData({"a": sp.csr_array(a), "b": b, "c": c}, present=present)
    letters = np.where(np.arange(N_SAMPLES) % 5 == 0, "c", np.where(y > 0, "b", "a"))
    sparse = sp.csr_array(np.where(np.abs(a) > 0.5, a, 0.0))
    kernels = MultiViewData({"k": b @ b.T, "a": a}, kinds={"k": "kernel"})
    rng = np.random.default_rng(0)
    smooth = rng.normal(size=(N_SAMPLES, 20))
    signals = np.where(y[:, None] == y[0], np.sign(smooth) + 0.1 * smooth, smooth)
    return {
        "dense": (data, y),
        "signals": (MultiViewData({"signals": signals, "a": a}), y),
        "gaps": (gaps, letters),
        "sparse": (MultiViewData({"a": sparse, "b": sparse}), letters),
        "kernels": (kernels, y),
        "matrix": (np.hstack([a, b]), letters),
        "csr": (sparse, letters),
    }


def shrink(model):
    """The same estimator with small ensembles."""
    parameters = {
        name: SMALL["n_estimators"]
        for name, value in model.get_params().items()
        if name.rpartition("__")[2] == "n_estimators" and isinstance(value, int)
    }
    for name, value in model.get_params().items():
        if isinstance(value, HistGradientBoostingClassifier):
            parameters |= {f"{name}__max_iter": 3, f"{name}__min_samples_leaf": 5}
    return model.set_params(**parameters)


def late(estimator):
    voting = "soft" if hasattr(estimator, "predict_proba") else "sum"
    return LateFusionClassifier(estimator, voting=voting)


def early(estimator):
    return EarlyFusionClassifier(estimator)


def estimators():
    """Name -> (unfitted model, name of its problem)."""
    zoo = {
        f"method {name}": (
            shrink(method.make_estimator(0)),
            "dense" if name.endswith("-NB") else "gaps",
        )
        for name, method in METHODS.items()
    }
    zoo |= {
        f"{name} {problem}": (clone(model), problem)
        for name, model in CLASSIFIERS.items()
        if type(model).__module__.split(".")[1] in ("sparse", "trust")
        for problem in ("dense", "gaps")
    }
    trees = [DecisionTreeClassifier(max_depth=3), ExtraTreeClassifier(max_depth=3)]
    zoo |= {
        "default": (ConsilienceClassifier(random_state=0), "dense"),
        "default sparse": (ConsilienceClassifier(random_state=0), "sparse"),
        "default kernels": (ConsilienceClassifier(random_state=0), "kernels"),
        "boosted signals": (ConsilienceClassifier(random_state=0), "signals"),
        "boosted default": (ConsilienceClassifier(random_state=0), "gaps"),
        "boosted default 2": (ConsilienceClassifier(random_state=0), "dense"),
        "robust default": (RobustPoolingClassifier(cv=2, random_state=0), "dense"),
        "best view": (BestViewClassifier(cv=2), "gaps"),
        "stacking": (StackingFusionClassifier(cv=2), "gaps"),
        "selected features": (
            make_pipeline(
                ViewFeatureSelector(EarlyFusionClassifier(), k=2, cv=2), SMVMEDClassifier()
            ), "dense",
        ),
        "projected": (make_pipeline(LandmarkProjector(n_landmarks=6), SVC()), "dense"),
        "late tree": (late(trees[0]), "gaps"),
        "late extra tree": (late(trees[1]), "dense"),
        "early tree": (early(DecisionTreeClassifier(max_depth=2)), "sparse"),
        "late binned tree": (late(BinnedTreeClassifier(max_depth=3)), "gaps"),
        "late boosting": (late(GradientBoostingClassifier(n_estimators=2, max_depth=2)), "dense"),
        "late boosting 3": (late(GradientBoostingClassifier(n_estimators=2, max_depth=2)), "gaps"),
        "late histogram": (
            late(HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=5)), "dense",
        ),
        "late adaboost": (late(AdaBoostClassifier(n_estimators=3)), "gaps"),
        "late bagging": (late(BaggingClassifier(n_estimators=3)), "dense"),
        "late svc": (late(SVC()), "gaps"),
        "late svc linear": (late(SVC(kernel="linear", break_ties=True)), "dense"),
        "late svc poly": (late(SVC(kernel="poly", degree=2)), "sparse"),
        "late nusvc": (late(NuSVC(nu=0.2)), "dense"),
        "early nusvc 3": (early(NuSVC(nu=0.2)), "sparse"),
        "late knn": (late(KNeighborsClassifier(3, algorithm="brute")), "gaps"),
        "late knn distance": (
            late(KNeighborsClassifier(3, algorithm="brute", weights="distance")), "dense",
        ),
        "early knn": (early(KNeighborsClassifier(3, algorithm="brute")), "sparse"),
        "late knn manhattan": (
            late(KNeighborsClassifier(3, algorithm="brute", metric="manhattan")), "dense",
        ),
        "late centroid": (late(NearestCentroid()), "dense"),
        "late ridge": (late(RidgeClassifier()), "dense"),
        "late sgd": (late(SGDClassifier(random_state=0)), "gaps"),
        "late linear svc": (late(LinearSVC()), "gaps"),
        "late lda": (late(LinearDiscriminantAnalysis()), "dense"),
        "late qda": (late(QuadraticDiscriminantAnalysis()), "dense"),
        "late gaussian": (late(GaussianNB()), "dense"),
        "late bernoulli": (late(BernoulliNB()), "gaps"),
        "late one-vs-rest": (late(OneVsRestClassifier(LogisticRegression())), "gaps"),
        "smvmed": (SMVMEDClassifier(), "gaps"),
        "smvmed rbf": (SMVMEDClassifier(kernel="rbf"), "gaps"),
        "smvmed rbf sparse": (SMVMEDClassifier(kernel="rbf"), "sparse"),
        "smvmed kernels": (SMVMEDClassifier(), "kernels"),
        "smvmed cv": (SMVMEDClassifierCV(cv=2), "dense"),
        "mvmed poly": (MVMEDClassifier(kernel="poly"), "dense"),
        "svm2k rbf": (SVM2KClassifier(kernel="rbf"), "sparse"),
        "mkl gaps": (MKLClassifier(), "gaps"),
        "mkl kernels": (MKLClassifier(), "kernels"),
        "mkl sparse": (MKLClassifier(), "sparse"),
        "mvml sparse": (MVMLClassifier(), "sparse"),
        "landmarks rbf": (MVLSVMClassifier(n_landmarks=6, kernel="rbf"), "sparse"),
        "landmarks linear": (MVLSVMClassifier(n_landmarks=6, kernel="linear"), "gaps"),
        "vote sparse": (MwMvC2Classifier(random_state=0), "sparse"),
        "scaled": (make_pipeline(ViewTransformer(StandardScaler()), late(SVC())), "dense"),
        "prepared": (make_pipeline(ViewPreparer(scale="standard"), SMVMEDClassifier()), "gaps"),
        "imputed": (
            make_pipeline(ViewTransformer(SimpleImputer()), late(GaussianNB())), "dense",
        ),
        "transformed": (
            late(make_pipeline(
                make_union(PCA(2), QuantileTransformer(n_quantiles=10), PowerTransformer()),
                RobustScaler(), LogisticRegression(),
            )), "dense",
        ),
        "transformed sparse": (
            early(make_pipeline(TruncatedSVD(2), MinMaxScaler(), LogisticRegression())), "sparse",
        ),
        "discretised": (
            late(make_pipeline(
                KBinsDiscretizer(3, quantile_method="averaged_inverted_cdf"), BernoulliNB()
            )), "dense",
        ),
        "function": (
            late(make_pipeline(
                FunctionTransformer(np.tanh), Nystroem(n_components=5), LinearSVC()
            )), "dense",
        ),
        "plain tree": (DecisionTreeClassifier(max_depth=3), "matrix"),
        "plain svc": (make_pipeline(StandardScaler(), SVC()), "matrix"),
        "plain sparse svc": (SVC(), "csr"),
        "plain knn": (KNeighborsClassifier(3, algorithm="brute"), "matrix"),
    }  # fmt: skip
    return zoo


# one model for each kind of compiled code, and of our own
FEW = [
    "method HistGradientBoosting", "method MwMvC2", "method ShareBoost", "default", "late tree",
    "late boosting 3", "late svc", "early knn", "smvmed rbf sparse", "mkl kernels",
    "landmarks linear", "method MVML", "prepared", "plain sparse svc", "tables",
]  # fmt: skip


def fitted(names=None):
    """Name -> (fitted model, rows to predict), for some names or all."""
    inputs = problems()
    models = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, (estimator, problem) in estimators().items():
            if names is not None and name not in names:
                continue
            X, y = inputs[problem]
            min_rows = 10 if name.startswith("boosted") else _classifier.BOOSTED_MIN_ROWS
            with patch.object(_classifier, "BOOSTED_MIN_ROWS", min_rows):
                models[name] = estimator.fit(X, y), X[:10]
        models["tables"] = table_model()
        models["frames"] = frame_model()
    return models


def table_model():
    """A model of ``compare``: numbers and categories of two tables."""
    rng = np.random.default_rng(0)
    columns = {
        "number": rng.normal(size=N_SAMPLES),
        "letter": rng.choice(["a", "b", "c"], N_SAMPLES),
        "target": rng.choice(["yes", "no"], N_SAMPLES),
    }
    views = {"v": ["number"], "w": ["letter"]}
    table = pa.table(columns)
    joined = join_tables({"t": Table("t.csv", table)}, target="target", views=views)
    pipeline = make_pipeline(ViewPreparer(scale="standard"), late(LogisticRegression()))
    model = TableModel(pipeline.fit(joined.data, joined.target), joined.views, "Late", "target")
    return model, {name: table.select(columns)[:10] for name, columns in views.items()}


def frame_model():
    """A model of dataframes, one of whose columns is left out."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(N_SAMPLES, 3)), columns=["x", "w", "patient"])
    roles = [
        ColumnRole("v", "x", "number"),
        ColumnRole("v", "w", "number"),
        ColumnRole("v", "patient", "left out", "identifier"),
    ]
    model = late(LogisticRegression()).fit({"v": frame[["x", "w"]]}, np.arange(N_SAMPLES) % 2)
    return make_pipeline(FeatureSelector(roles), model), {"v": frame[:10]}
