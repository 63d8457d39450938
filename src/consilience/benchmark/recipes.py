"""Named methods: an estimator with the settings of a paper or of a simple baseline.

A baseline is a role, not a class. Each recipe states what it builds and its source, and
``build(seed)`` returns a fresh estimator.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import scipy.sparse as sp
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from consilience._default import ConsilienceClassifier
from consilience._model_types import model_type
from consilience.boosting import (
    IBoostClassifier,
    MuMBoClassifier,
    MVWABClassifier,
    RShareBoostClassifier,
    ShareBoostClassifier,
)
from consilience.fusion import (
    BestViewClassifier,
    EarlyFusionClassifier,
    LateFusionClassifier,
    StackingFusionClassifier,
)
from consilience.kernel import MKLClassifier, MVMLClassifier
from consilience.landmark import MVLSVMClassifier
from consilience.margin import (
    AMVMEDClassifier,
    MVMEDClassifier,
    SMVMEDClassifier,
    SVM2KClassifier,
)
from consilience.views import ViewTransformer
from consilience.views._maps import ViewMapper
from consilience.vote import MwMvC2Classifier

__all__ = ["RECIPES", "Recipe", "get_recipes"]

GOYAL = "Goyal et al. 2018"
KOCO = "Koço & Capponi 2011"
FARQUHAR = "Farquhar et al. 2005"
HUUSARI = "Huusari et al. 2018"
LANCKRIET = "Lanckriet et al. 2004"
MAO = "Mao & Sun 2016"
PENG = "Peng et al. 2011"
SUN = "Sun & Chao 2013"
XIAO = "Xiao & Guo 2012"
CHAO = "Chao & Sun 2016"
ZANTEDESCHI = "Zantedeschi et al. 2018"


@dataclass(frozen=True)
class Recipe:
    """A method with its settings.

    Where ``build`` leaves the choice of the inner estimator to the method, ``build_tunable``
    passes one explicitly, so that a tuning grid can refer to its parameters.
    """

    name: str
    summary: str
    source: str
    build: Callable[[int | None], Any]
    build_tunable: Callable[[int | None], Any] | None = None

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kinds of views that the method accepts; inner estimators accept features only."""
        model = _last_step(self.build(None))
        return ("features",) if "estimator" in model.get_params(deep=False) else model._kinds

    @property
    def has_probabilities(self) -> bool:
        """Whether the method has ``predict_proba``."""
        return hasattr(self.build(None), "predict_proba")


def _last_step(model: Any) -> Any:
    return model.steps[-1][1] if isinstance(model, Pipeline) else model


def _tree() -> Any:
    return DecisionTreeClassifier()


def _logistic() -> Any:
    return LogisticRegression(max_iter=1000)


def _svm() -> Any:
    # not centred: it would not change this kernel, and sparse views cannot be centred
    return make_pipeline(StandardScaler(with_mean=False), SVC(gamma="auto"))


def _with_scaled_views(model: Any) -> Any:
    # the margin methods assume columns of similar scale; sparse views cannot be centred
    return make_pipeline(ViewTransformer(StandardScaler(with_mean=False)), model)


def _with_mapped_views(model: Any) -> Any:
    # the same transformation of the views as in the default classifier
    return make_pipeline(ViewTransformer(ViewMapper()), model)


def _adaboost(n_estimators: int) -> Any:
    # ShareBoost on a single view is AdaBoost
    return ShareBoostClassifier(n_estimators=n_estimators, max_depth=1)


@model_type("benchmark.as_dense")
def _as_dense(X: Any) -> Any:
    return X.toarray() if sp.issparse(X) else X


def _with_dense_input(model: Any) -> Any:
    return make_pipeline(FunctionTransformer(_as_dense, accept_sparse=True), model)


_RECIPE_LIST = [
    Recipe(
        "Consilience",
        "the default: kernel ridge and forests on all views, weighted by out-of-sample log loss",
        "consilience",
        lambda seed: ConsilienceClassifier(random_state=seed),
    ),
    Recipe(
        "Best view",
        "logistic regression on the view that is best in cross-validation",
        "baseline",
        lambda seed: BestViewClassifier(random_state=seed),
        lambda seed: BestViewClassifier(_logistic(), random_state=seed),
    ),
    Recipe(
        "Early fusion",
        "logistic regression on the concatenated views",
        "baseline",
        lambda seed: EarlyFusionClassifier(random_state=seed),
        lambda seed: EarlyFusionClassifier(_logistic(), random_state=seed),
    ),
    Recipe(
        "Late fusion",
        "logistic regression per view, mean of the probabilities",
        "baseline",
        lambda seed: LateFusionClassifier(random_state=seed),
        lambda seed: LateFusionClassifier(_logistic(), random_state=seed),
    ),
    Recipe(
        "Stacking fusion",
        "logistic regression per view, combined by another one",
        "baseline",
        lambda seed: StackingFusionClassifier(random_state=seed),
        lambda seed: StackingFusionClassifier(_logistic(), random_state=seed),
    ),
    Recipe(
        "ExtraTrees",
        "200 extremely randomised trees on the concatenated views",
        "baseline",
        lambda seed: EarlyFusionClassifier(ExtraTreesClassifier(200), random_state=seed),
    ),
    Recipe(
        "RandomForest",
        "random forest of 200 trees on the concatenated views",
        "baseline",
        lambda seed: EarlyFusionClassifier(RandomForestClassifier(200), random_state=seed),
    ),
    Recipe(
        "RandomForest votes",
        "random forest of 200 trees per view, mean of the probabilities",
        "baseline",
        lambda seed: LateFusionClassifier(RandomForestClassifier(200), random_state=seed),
    ),
    Recipe(
        "ExtraTrees votes",
        "200 extremely randomised trees per view, mean of the probabilities",
        "baseline",
        lambda seed: LateFusionClassifier(ExtraTreesClassifier(200), random_state=seed),
    ),
    Recipe(
        "Mapped early fusion",
        "logistic regression on the concatenated views, mapped as by the default",
        "baseline",
        lambda seed: _with_mapped_views(EarlyFusionClassifier(_logistic(), random_state=seed)),
    ),
    Recipe(
        "Mapped late fusion",
        "logistic regression per view, mapped as by the default, mean of the probabilities",
        "baseline",
        lambda seed: _with_mapped_views(LateFusionClassifier(_logistic(), random_state=seed)),
    ),
    Recipe(
        "Mapped SVM",
        "RBF SVM on the concatenated views, mapped as by the default",
        "baseline",
        lambda seed: _with_mapped_views(EarlyFusionClassifier(SVC(), random_state=seed)),
    ),
    Recipe(
        "Mapped ExtraTrees",
        "200 extremely randomised trees on the concatenated views, mapped as by the default",
        "baseline",
        lambda seed: _with_mapped_views(
            EarlyFusionClassifier(ExtraTreesClassifier(200), random_state=seed)
        ),
    ),
    Recipe(
        "Mapped sum of kernels",
        "SVM on the mean of the RBF kernels of the views, mapped as by the default",
        "baseline",
        lambda seed: _with_mapped_views(MKLClassifier("mean", C=10.0)),
    ),
    Recipe(
        "HistGradientBoosting",
        "gradient boosting on binned columns of the concatenated views",
        "baseline",
        lambda seed: EarlyFusionClassifier(
            _with_dense_input(HistGradientBoostingClassifier()), random_state=seed
        ),
    ),
    Recipe(
        "Mono",
        "decision tree on the best single view",
        GOYAL,
        lambda seed: BestViewClassifier(_tree(), random_state=seed),
    ),
    Recipe(
        "Concat",
        "decision tree on the concatenated views",
        GOYAL,
        lambda seed: EarlyFusionClassifier(_tree(), random_state=seed),
    ),
    Recipe(
        "Fusion",
        "decision tree per view on 60 % of the rows, another on their predictions for the rest",
        GOYAL,
        lambda seed: StackingFusionClassifier(
            _tree(), final_estimator=_tree(), cv=0.4, random_state=seed
        ),
    ),
    Recipe(
        "MV-MV",
        "decision tree per view, majority vote",
        GOYAL,
        lambda seed: LateFusionClassifier(_tree(), voting="hard", random_state=seed),
    ),
    Recipe(
        "SVMs",
        "RBF SVM per view with gamma = 1 / number of columns, majority vote",
        ZANTEDESCHI,
        lambda seed: LateFusionClassifier(SVC(gamma="auto"), voting="hard", random_state=seed),
    ),
    Recipe(
        "SVM-MV",
        "RBF SVM per scaled view, majority vote",
        PENG,
        lambda seed: LateFusionClassifier(_svm(), voting="hard", random_state=seed),
    ),
    Recipe(
        "Stacking",
        "RBF SVM per scaled view, combined by another SVM",
        PENG,
        lambda seed: StackingFusionClassifier(_svm(), final_estimator=_svm(), random_state=seed),
    ),
    Recipe(
        "Early+SVM",
        "RBF SVM on the concatenated scaled views",
        KOCO,
        lambda seed: EarlyFusionClassifier(_svm(), random_state=seed),
    ),
    Recipe(
        "SVM+Late",
        "RBF SVM per scaled view, sum of the decision values",
        KOCO,
        lambda seed: LateFusionClassifier(_svm(), voting="sum", random_state=seed),
    ),
    Recipe(
        "Early+AdaBoost",
        "100 rounds of AdaBoost with stumps on the concatenated views",
        KOCO,
        lambda seed: EarlyFusionClassifier(_adaboost(100), random_state=seed),
    ),
    Recipe(
        "AdaBoost-Ca",
        "150 rounds of AdaBoost with stumps on the concatenated views",
        PENG,
        lambda seed: EarlyFusionClassifier(_adaboost(150), random_state=seed),
    ),
    Recipe(
        "AdaBoost-MV",
        "150 rounds of AdaBoost with stumps per view, majority vote",
        PENG,
        lambda seed: LateFusionClassifier(_adaboost(150), voting="hard", random_state=seed),
    ),
    Recipe(
        "ShareBoost-NB",
        "150 rounds of ShareBoost with naive Bayes",
        PENG,
        lambda seed: ShareBoostClassifier(
            _with_dense_input(GaussianNB()), n_estimators=150, random_state=seed
        ),
    ),
    Recipe(
        "rShareBoost-NB",
        "150 rounds of rShareBoost with naive Bayes",
        PENG,
        lambda seed: RShareBoostClassifier(
            _with_dense_input(GaussianNB()), n_estimators=150, random_state=seed
        ),
    ),
    Recipe(
        "iBoost-NB",
        "150 rounds of iBoost with naive Bayes",
        PENG,
        lambda seed: IBoostClassifier(
            _with_dense_input(GaussianNB()), n_estimators=150, random_state=seed
        ),
    ),
    Recipe(
        "MwMvC2",
        "two-level weighted vote of randomised trees of all depths",
        GOYAL,
        lambda seed: MwMvC2Classifier(random_state=seed),
    ),
    Recipe(
        "MuMBo",
        "100 rounds of boosting with cooperating views, trees of depth 3",
        KOCO,
        lambda seed: MuMBoClassifier(random_state=seed),
    ),
    Recipe(
        "ShareBoost",
        "100 rounds of boosting with shared weights, trees of depth 3",
        PENG,
        lambda seed: ShareBoostClassifier(random_state=seed),
    ),
    Recipe(
        "rShareBoost",
        "100 rounds of boosting, one view per round drawn by a bandit, trees of depth 3",
        PENG,
        lambda seed: RShareBoostClassifier(random_state=seed),
    ),
    Recipe(
        "rBoost.SH",
        "rShareBoost with full decision trees, as in the comparison of the MwMvC2 paper",
        GOYAL,
        lambda seed: RShareBoostClassifier(_tree(), random_state=seed),
    ),
    Recipe(
        "iBoost",
        "100 rounds of boosting with separate weights for each view, trees of depth 3",
        PENG,
        lambda seed: IBoostClassifier(random_state=seed),
    ),
    Recipe(
        "MVWAB",
        "100 rounds of AdaBoost over votes of all views, trees of depth 3",
        XIAO,
        lambda seed: MVWABClassifier(random_state=seed),
    ),
    Recipe(
        "SMVMED",
        "linear classifiers on scaled views whose slacks agree (alpha = 0.5)",
        MAO,
        lambda seed: _with_scaled_views(SMVMEDClassifier(0.1)),
    ),
    Recipe(
        "MVMED",
        "linear classifiers on scaled views, the worst view of a sample determines its slack",
        SUN,
        lambda seed: _with_scaled_views(MVMEDClassifier(0.1)),
    ),
    Recipe(
        "AMVMED",
        "MVMED with weighted views (equal weights unless rho is given)",
        CHAO,
        lambda seed: _with_scaled_views(AMVMEDClassifier(0.1)),
    ),
    Recipe(
        "SVM-2K",
        "linear SVMs on scaled views whose decisions agree",
        FARQUHAR,
        lambda seed: _with_scaled_views(SVM2KClassifier(0.1, D=0.1)),
    ),
    Recipe(
        "MVL-SVM",
        "linear SVM on similarities of scaled views to 100 landmarks each",
        ZANTEDESCHI,
        lambda seed: _with_scaled_views(MVLSVMClassifier(random_state=seed)),
    ),
    Recipe(
        "Sum of kernels",
        "SVM on the mean of the scaled views' RBF kernels",
        "baseline",
        lambda seed: _with_scaled_views(MKLClassifier("mean", C=10.0)),
    ),
    Recipe(
        "MKL",
        "SVM on a learned sum of the scaled views' RBF kernels, weights of norm 1",
        LANCKRIET,
        lambda seed: _with_scaled_views(MKLClassifier(1, C=10.0)),
    ),
    Recipe(
        "MVML",
        "least squares on RBF features of scaled views with a metric learned between them",
        HUUSARI,
        lambda seed: _with_scaled_views(MVMLClassifier(random_state=seed)),
    ),
    Recipe(
        "MVMLsp",
        "MVML whose metric leaves out views that do not help",
        HUUSARI,
        lambda seed: _with_scaled_views(MVMLClassifier("sparse", tol=1e-3, random_state=seed)),
    ),
]

RECIPES: dict[str, Recipe] = {recipe.name: recipe for recipe in _RECIPE_LIST}


def get_recipes(names: list[str] | None = None) -> list[Recipe]:
    """Return recipes by name (ignoring case, spaces and hyphens), or all of them for None."""
    if names is None:
        return list(RECIPES.values())
    by_name = {_normalize(name): recipe for name, recipe in RECIPES.items()}
    unknown = [name for name in names if _normalize(name) not in by_name]
    if unknown:
        raise ValueError(
            f"unknown method {', '.join(map(repr, unknown))}; known are {', '.join(RECIPES)}"
        )
    return list(dict.fromkeys(by_name[_normalize(name)] for name in names))


def _normalize(name: str) -> str:
    return name.casefold().translate(str.maketrans("", "", " -_"))
