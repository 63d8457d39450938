"""The in-place RBF epilogue against the same formula in NumPy and scikit-learn's rbf_kernel."""

import numpy as np
from _timing import least, report
from sklearn.metrics.pairwise import rbf_kernel

from consilience._core import rbf_epilogue


def main(n=2000, d=50, gamma=0.02):
    for dtype in (np.float64, np.float32):
        X = np.random.default_rng(0).standard_normal((n, d)).astype(dtype)
        norms = np.einsum("ij,ij->i", X, X)
        products = X @ X.T

        def numpy_epilogue(P=products, norms=norms, dtype=dtype):
            return np.exp(-dtype(gamma) * np.maximum(0, norms[:, None] + norms - 2 * P))

        def ours(P=products, norms=norms):
            rbf_epilogue(P.copy(), norms, norms, gamma)

        def full(X=X):
            norms = np.einsum("ij,ij->i", X, X)
            P = X @ X.T
            rbf_epilogue(P, norms, norms, gamma)

        name = np.dtype(dtype).name
        report(f"RBF epilogue {n} x {n} {name} vs NumPy", least(ours), least(numpy_epilogue), "")
        anchor = least(lambda X=X: rbf_kernel(X, gamma=gamma))
        report(f"RBF kernel {n} x {n} {name} vs scikit-learn", least(full), anchor, "")


if __name__ == "__main__":
    main()
