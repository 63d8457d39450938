"""Every public classifier: the one list that drives the common tests."""

from sklearn.svm import SVC

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
}

# margins are no probabilities
NO_PROBABILITIES = [
    name
    for name, model in CLASSIFIERS.items()
    if type(model).__module__.split(".")[1] in ("margin", "landmark")
]

# the intercept of a hinge loss need not be unique, so rounding moves it more than the others
TOLERANCE = {"SVM2KClassifier": 1e-5}

# for kernel views
PRECOMPUTED = {
    "LateFusionClassifier": LateFusionClassifier(SVC(kernel="precomputed"), voting="hard"),
    "BestViewClassifier": BestViewClassifier(SVC(kernel="precomputed")),
    "StackingFusionClassifier": StackingFusionClassifier(SVC(kernel="precomputed")),
    "MVLSVMClassifier": MVLSVMClassifier(random_state=0),
}
