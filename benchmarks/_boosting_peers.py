"""Gradient boosting of other packages, in one thread, for default_boosting_peers.toml."""

import scipy.sparse as sp
from catboost import CatBoostClassifier
from lightgbm import LGBMClassifier
from xgboost import XGBClassifier


class SparseCatBoostClassifier(CatBoostClassifier):
    """CatBoost that also takes SciPy's sparse arrays: by itself it takes sparse matrices only."""

    def fit(self, X, y=None, **options):
        return super().fit(as_matrix(X), y, **options)

    def predict(self, data, **options):
        return super().predict(as_matrix(data), **options).ravel()

    def predict_proba(self, X, **options):
        return super().predict_proba(as_matrix(X), **options)


def as_matrix(X):
    return sp.csr_matrix(X) if sp.issparse(X) else X


LIGHTGBM = LGBMClassifier(n_jobs=1, verbose=-1)
XGBOOST = XGBClassifier(n_jobs=1)
CATBOOST = SparseCatBoostClassifier(thread_count=1, verbose=0, allow_writing_files=False)
