"""Every public classifier: the one list that drives the common tests."""

from sklearn.svm import SVC

from consilience.fusion import (
    BestViewClassifier,
    EarlyFusionClassifier,
    LateFusionClassifier,
    StackingFusionClassifier,
)

CLASSIFIERS = {
    "EarlyFusionClassifier": EarlyFusionClassifier(),
    "LateFusionClassifier": LateFusionClassifier(),
    "BestViewClassifier": BestViewClassifier(),
    "StackingFusionClassifier": StackingFusionClassifier(),
}

# without internal splits or draws: nothing may depend on the order of views, rows or labels
ORDER_FREE = {
    "EarlyFusionClassifier": EarlyFusionClassifier(),
    "LateFusionClassifier": LateFusionClassifier(),
    "LateFusionClassifier(sum)": LateFusionClassifier(voting="sum"),
    "LateFusionClassifier(hard)": LateFusionClassifier(voting="hard"),
}

# for kernel views
PRECOMPUTED = {
    "LateFusionClassifier": LateFusionClassifier(SVC(kernel="precomputed"), voting="hard"),
    "BestViewClassifier": BestViewClassifier(SVC(kernel="precomputed")),
    "StackingFusionClassifier": StackingFusionClassifier(SVC(kernel="precomputed")),
}
