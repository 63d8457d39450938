"""Large margins that agree between views: SMVMED, MVMED, AMVMED, SVM-2K."""

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
