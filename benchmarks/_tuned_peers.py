"""Linear classifiers whose penalty is tuned by cross-validation, for default_tuned_peers.toml."""

import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import LinearSVC

PENALTIES = {"C": [0.01, 0.1, 1.0, 10.0, 100.0]}


def as_terms(X):
    """Columns that count as numbers of terms: negative values, if any, are cut off."""
    return sp.csr_array(X).maximum(0)


LOGISTIC = GridSearchCV(LogisticRegression(max_iter=300), PENALTIES, cv=3)
SVC_OF_TERMS = make_pipeline(
    FunctionTransformer(as_terms, accept_sparse=True),
    TfidfTransformer(sublinear_tf=True),
    GridSearchCV(LinearSVC(), PENALTIES, cv=3),
)
