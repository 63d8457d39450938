"""Methods on kernels: metric learning between views, Laplacian completion."""

from consilience.kernel._laplacian import LaplacianCompletion
from consilience.kernel._mvml import MVMLClassifier

__all__ = ["LaplacianCompletion", "MVMLClassifier"]
