"""The features of svmlight files have the same columns in training and afterwards."""

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file
from sklearn.pipeline import make_pipeline

from consilience.comparison.prediction import read_samples
from consilience.fusion import EarlyFusionClassifier
from consilience.tables import FileArgument, TableError, TableModel, read_file, read_tables
from consilience.views import ViewPreparer

X = np.random.default_rng(0).integers(1, 9, size=(8, 4)).astype(float)
LACKING = X * [0, 1, 1, 1]  # the first feature is in none of the rows
Y = np.arange(8) % 2


def write(folder, name, matrix, zero_based=True):
    dump_svmlight_file(matrix, Y, str(folder / name), zero_based=zero_based)
    return FileArgument(folder / name, "v")


def read(*files):
    return read_tables(files, target="label")


@pytest.fixture(params=[True, False])
def zero_based(request):
    return request.param


def test_a_new_file_without_the_first_feature(tmp_path, zero_based):
    joined = read(write(tmp_path, "train.svm", X, zero_based))
    pipeline = make_pipeline(ViewPreparer(scale="standard"), EarlyFusionClassifier())
    pipeline.fit(joined.data, joined.target)
    model = TableModel(pipeline, joined.views, "Early fusion", "label")
    new = write(tmp_path, "new.svm", LACKING, zero_based)
    np.testing.assert_array_equal(read_samples(model, [new]).data["v"].toarray(), LACKING)
    if not zero_based:
        other = write(tmp_path, "other.svm", X)
        with pytest.raises(TableError, match=r"other\.svm has a feature with index 0, but"):
            read_samples(model, [other])


def test_files_of_one_view_are_numbered_alike(tmp_path, zero_based):
    # and features that the last rows lack are zeros
    whole = write(tmp_path, "whole.svm", X, zero_based)
    lacking = write(tmp_path, "lacking.svm", LACKING * [1, 1, 1, 0], zero_based)
    for files in ([whole, lacking], [lacking, whole]):
        joined = read(*files)
        parts = {"whole.svm": X, "lacking.svm": LACKING * [1, 1, 1, 0]}
        expected = np.concatenate([parts[file.path.name] for file in files])
        np.testing.assert_array_equal(joined.data["v"].toarray(), expected)
        assert joined.views["v"].first_index == 1 - zero_based


def test_a_file_without_features(tmp_path):
    (tmp_path / "empty.svm").write_text("1\n0\n")
    assert read_file(tmp_path / "empty.svm", n_features=3)["empty"].matrix.shape == (2, 3)
