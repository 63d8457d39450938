"""Every public classifier: the one list that drives the common tests."""

from sklearn.svm import SVC

from consilience import ConsilienceClassifier
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
    SMVMEDClassifierCV,
    SVM2KClassifier,
)
from consilience.vote import MwMvC2Classifier

CLASSIFIERS = {
    "ConsilienceClassifier": ConsilienceClassifier(10, random_state=0),
    "EarlyFusionClassifier": EarlyFusionClassifier(),
    "LateFusionClassifier": LateFusionClassifier(),
    "BestViewClassifier": BestViewClassifier(),
    "StackingFusionClassifier": StackingFusionClassifier(),
    "MuMBoClassifier": MuMBoClassifier(n_estimators=10),
    "ShareBoostClassifier": ShareBoostClassifier(n_estimators=10),
    "RShareBoostClassifier": RShareBoostClassifier(n_estimators=10, random_state=0),
    "IBoostClassifier": IBoostClassifier(n_estimators=10),
    "MVWABClassifier": MVWABClassifier(n_estimators=10),
    "MwMvC2Classifier": MwMvC2Classifier(random_state=0),
    "MwMvC2Classifier(loss)": MwMvC2Classifier("trees", view_weights="loss"),
    "SMVMEDClassifier": SMVMEDClassifier(),
    "SMVMEDClassifierCV": SMVMEDClassifierCV(cs=[0.5, 2], alphas=[0, 0.5], cv=3),
    "MVMEDClassifier": MVMEDClassifier(),
    "MVMEDClassifier(exponential)": MVMEDClassifier(prior="exponential"),
    "AMVMEDClassifier": AMVMEDClassifier(),
    "AMVMEDClassifier(two-step)": AMVMEDClassifier(form="two-step"),
    "SVM2KClassifier": SVM2KClassifier(),
    "MVLSVMClassifier": MVLSVMClassifier(random_state=0),
    "SMVMEDClassifier(rbf)": SMVMEDClassifier(kernel="rbf", tol=1e-9),
    "SMVMEDClassifierCV(rbf)": SMVMEDClassifierCV(
        cs=[0.5, 2], alphas=[0, 0.5], cv=3, kernel="rbf", tol=1e-9
    ),
    "MVMEDClassifier(rbf)": MVMEDClassifier(kernel="rbf", tol=1e-9),
    "AMVMEDClassifier(rbf)": AMVMEDClassifier(form="two-step", kernel="rbf", tol=1e-9),
    "SVM2KClassifier(rbf)": SVM2KClassifier(kernel="rbf", tol=1e-9),
    "MKLClassifier": MKLClassifier(tol=1e-9),
    "MKLClassifier(mean)": MKLClassifier("mean", tol=1e-9),
    "MVMLClassifier": MVMLClassifier(random_state=0),
}

# without internal splits or draws: nothing may depend on the order of views, rows or labels
ORDER_FREE = {
    "EarlyFusionClassifier": EarlyFusionClassifier(),
    "LateFusionClassifier": LateFusionClassifier(),
    "LateFusionClassifier(sum)": LateFusionClassifier(voting="sum"),
    "LateFusionClassifier(hard)": LateFusionClassifier(voting="hard"),
    "SMVMEDClassifier": SMVMEDClassifier(),
    "MVMEDClassifier": MVMEDClassifier(),
    "AMVMEDClassifier(two-step)": AMVMEDClassifier(form="two-step"),
    "SVM2KClassifier": SVM2KClassifier(),
    # the rows are fewer than the landmarks, so that all of them are landmarks
    "MVLSVMClassifier": MVLSVMClassifier(random_state=0),
    "SMVMEDClassifier(rbf)": SMVMEDClassifier(kernel="rbf", tol=1e-9),
    "MKLClassifier(2)": MKLClassifier(2, tol=1e-9),
    "MVMLClassifier": MVMLClassifier(random_state=0),
}

# margins are no probabilities
NO_PROBABILITIES = [
    name
    for name, model in CLASSIFIERS.items()
    if type(model).__module__.split(".")[1] in ("kernel", "landmark", "margin")
]

# the intercept of a hinge loss need not be unique, so rounding moves it more than the others
# and weights of kernels at a gap of 1e-9 are known to about its root
TOLERANCE = {"SVM2KClassifier": 1e-5, "SVM2KClassifier(rbf)": 1e-5, "MKLClassifier(2)": 1e-4}

# takes tables with categories and single missing cells
TAKES_TABLES = ["ConsilienceClassifier"]

# for kernel views
PRECOMPUTED = {
    "ConsilienceClassifier": ConsilienceClassifier(10, random_state=0),
    "LateFusionClassifier": LateFusionClassifier(SVC(kernel="precomputed"), voting="hard"),
    "BestViewClassifier": BestViewClassifier(SVC(kernel="precomputed")),
    "StackingFusionClassifier": StackingFusionClassifier(SVC(kernel="precomputed")),
    **{name: CLASSIFIERS[name] for name in NO_PROBABILITIES},
}
