"""Methods on kernels: multiple kernel learning, metric learning, Laplacian completion."""

from consilience._method import Method
from consilience.kernel._laplacian import LaplacianCompletion
from consilience.kernel._mkl import MKLClassifier
from consilience.kernel._mvml import MVMLClassifier
from consilience.kernel._view_kernels import ViewKernels

__all__ = ["LaplacianCompletion", "MKLClassifier", "MVMLClassifier", "ViewKernels"]

SVM_GRID = {"C": [0.1, 1.0, 10.0, 100.0]}
REGULARIZATION_GRID = {"reg": [0.0001, 0.01, 1.0]}

METHODS = (
    Method(
        "Sum of kernels",
        "SVM on the mean of the scaled views' RBF kernels",
        "baseline",
        lambda random_state: MKLClassifier("mean", C=10.0),
        SVM_GRID,
        preparation="variance",
    ),
    Method(
        "MKL",
        "SVM on a learned sum of the scaled views' RBF kernels, weights of norm 1",
        "Lanckriet et al. 2004",
        lambda random_state: MKLClassifier(1, C=10.0),
        SVM_GRID,
        preparation="variance",
        in_default_selection=True,
    ),
    Method(
        "MVML",
        "least squares on RBF features of scaled views with a metric learned between them",
        "Huusari et al. 2018",
        lambda random_state: MVMLClassifier(random_state=random_state),
        REGULARIZATION_GRID,
        preparation="variance",
    ),
    Method(
        "MVMLsp",
        "MVML whose metric leaves out views that do not help",
        "Huusari et al. 2018",
        lambda random_state: MVMLClassifier("sparse", tol=1e-3, random_state=random_state),
        REGULARIZATION_GRID,
        preparation="variance",
    ),
)
