"""Methods on kernels: Laplacian completion."""

from consilience.kernel._laplacian import LaplacianCompletion

__all__ = ["LaplacianCompletion"]
