"""Gradient boosting of other packages, in one thread, for default_boosting_peers.toml."""

from catboost import CatBoostClassifier
from lightgbm import LGBMClassifier
from xgboost import XGBClassifier

LIGHTGBM = LGBMClassifier(n_jobs=1, verbose=-1)
XGBOOST = XGBClassifier(n_jobs=1)
CATBOOST = CatBoostClassifier(thread_count=1, verbose=0, allow_writing_files=False)
