"""Methods on kernels: multiple kernel learning, metric learning, Laplacian completion."""

from consilience.kernel._laplacian import LaplacianCompletion
from consilience.kernel._mkl import MKLClassifier
from consilience.kernel._mvml import MVMLClassifier

__all__ = ["LaplacianCompletion", "MKLClassifier", "MVMLClassifier"]
