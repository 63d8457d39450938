"""Large margins that agree between views: SMVMED, MVMED, AMVMED, SVM-2K."""

from consilience._method import Method
from consilience.margin._amvmed import AMVMEDClassifier
from consilience.margin._mvmed import MVMEDClassifier
from consilience.margin._smvmed import SMVMEDClassifier
from consilience.margin._smvmed_cv import SMVMEDClassifierCV
from consilience.margin._svm2k import SVM2KClassifier

__all__ = [
    "AMVMEDClassifier",
    "MVMEDClassifier",
    "SMVMEDClassifier",
    "SMVMEDClassifierCV",
    "SVM2KClassifier",
]

MARGIN_C = [0.01, 0.1, 1.0, 10.0]

METHODS = (
    Method(
        "SMVMED",
        "linear classifiers on scaled views whose slacks agree (alpha = 0.5)",
        "Mao & Sun 2016",
        lambda random_state: SMVMEDClassifier(0.1),
        {"c": MARGIN_C, "alpha": [0.1, 0.5, 0.9]},
        preparation="variance",
        in_default_selection=True,
    ),
    Method(
        "MVMED",
        "linear classifiers on scaled views, the worst view of a sample determines its slack",
        "Sun & Chao 2013",
        lambda random_state: MVMEDClassifier(0.1),
        {"c": MARGIN_C},
        preparation="variance",
    ),
    Method(
        "AMVMED",
        "MVMED with weighted views (equal weights unless rho is given)",
        "Chao & Sun 2016",
        lambda random_state: AMVMEDClassifier(0.1),
        {"c": MARGIN_C},
        preparation="variance",
    ),
    Method(
        "SVM-2K",
        "linear SVMs on scaled views whose decisions agree",
        "Farquhar et al. 2005",
        lambda random_state: SVM2KClassifier(0.1, D=0.1),
        {"C": [0.01, 0.1, 1.0], "D": [0.01, 0.1, 1.0]},
        preparation="variance",
    ),
)
