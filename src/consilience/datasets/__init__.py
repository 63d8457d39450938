"""Multi-view data sets: bundled, synthetic, and downloaded from their publishers."""

from consilience.datasets._ads import fetch_ads
from consilience.datasets._biomarkers import make_multiview_biomarkers
from consilience.datasets._breast_tcga import fetch_breast_tcga
from consilience.datasets._course import fetch_course
from consilience.datasets._digits import load_digits_views
from consilience.datasets._flower17 import fetch_flower17
from consilience.datasets._mfeat import fetch_mfeat
from consilience.datasets._mnist import fetch_mnist_views
from consilience.datasets._nutrimouse import fetch_nutrimouse
from consilience.datasets._registry import DATASETS, Dataset, available, load_dataset
from consilience.datasets._reuters import fetch_reuters_multilingual
from consilience.datasets._store import DatasetError
from consilience.datasets._synthetic import make_multiview_classification
from consilience.datasets._ujiindoorloc import fetch_ujiindoorloc
from consilience.datasets._uwave import fetch_uwave

__all__ = [
    "DATASETS",
    "Dataset",
    "DatasetError",
    "available",
    "fetch_ads",
    "fetch_breast_tcga",
    "fetch_course",
    "fetch_flower17",
    "fetch_mfeat",
    "fetch_mnist_views",
    "fetch_nutrimouse",
    "fetch_reuters_multilingual",
    "fetch_ujiindoorloc",
    "fetch_uwave",
    "load_dataset",
    "load_digits_views",
    "make_multiview_biomarkers",
    "make_multiview_classification",
]
