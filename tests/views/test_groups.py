"""Groups of the samples travel with the container."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import StandardScaler

from consilience import MultiViewData, ViewTransformer
from consilience.benchmark.protocol import add_noise_views
from consilience.inspection._permutation import shuffle_view
from consilience.inspection._scoring import with_presence
from consilience.views import ViewPreparer
from consilience.views._encode import encode_tables, fit_table_codes
from consilience.views._layout import ViewLayout, check_values

GROUPS = ["p1", "p1", "p2", "p2", "p3", "p3"]


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.normal(size=6), "site": list("ababab")})
    return MultiViewData({"image": rng.normal(size=(6, 3)), "table": table}, groups=GROUPS)


def test_no_groups_by_default():
    assert MultiViewData({"a": np.zeros((3, 1))}).groups is None
    assert MultiViewData({"a": np.zeros((3, 1))}, sample_ids=["x", "y", "z"]).groups is None


def test_groups_travel_with_rows(data):
    assert data.groups.tolist() == GROUPS
    assert data[[4, 0]].groups.tolist() == ["p3", "p1"]
    assert data[1:3].groups.tolist() == ["p1", "p2"]
    assert data[np.array([True, False] * 3)].groups.tolist() == ["p1", "p2", "p3"]
    assert not data.groups.flags.writeable


def test_every_container_of_the_same_samples_keeps_the_groups(data):
    layout = ViewLayout.from_data(data)
    copies = {
        "select": data.select(["image"]),
        "pickle": pickle.loads(pickle.dumps(data)),
        "presence": with_presence(data, data.present),
        "noise": add_noise_views(data, 1, np.random.default_rng(0)),
        "shuffle": shuffle_view(data, "table", np.random.RandomState(0)),
        "transformer": ViewTransformer({"image": StandardScaler(), "table": "passthrough"})
        .fit(data)
        .transform(data),
        "preparer": ViewPreparer().fit_transform(data),
        "encoded": encode_tables(data, fit_table_codes(data)),
        "layout": layout.align(data.select(["image"])),
        "values": check_values(data.select(["image"]), ("features",), "test"),
    }
    for name, copy in copies.items():
        assert copy.groups is not None, name
        assert copy.groups.tolist() == GROUPS, name


def test_repeated_sample_ids_are_groups():
    data = MultiViewData({"a": np.zeros((3, 1))}, sample_ids=["p1", "p1", "p2"])
    assert data.groups.tolist() == ["p1", "p1", "p2"]
    explicit = MultiViewData({"a": np.zeros((2, 1))}, sample_ids=["x", "x"], groups=[0, 1])
    assert explicit.groups.tolist() == [0, 1]


def test_a_bootstrap_does_not_invent_groups():
    data = MultiViewData({"a": np.arange(6.0).reshape(3, 2)}, sample_ids=["x", "y", "z"])
    sample = ViewTransformer(StandardScaler()).fit_transform(data[[0, 0, 1]])
    assert sample.sample_ids.tolist() == ["x", "x", "y"]
    assert sample.groups is None


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([0, 1], "groups must have 3 entries"),
        ([0, None, 1], "groups is None or NaN in row 1; fill it in"),
        (pd.array([0, 1, pd.NA], dtype="Int64"), "groups is None or NaN in row 2"),
        (0, "groups"),
    ],
)
def test_invalid_groups(groups, message):
    with pytest.raises((ValueError, TypeError), match=message):
        MultiViewData({"a": np.zeros((3, 1))}, groups=groups)


def test_lazy_views_keep_the_groups():
    da = pytest.importorskip("dask.array")
    views = {"a": da.zeros((4, 2), chunks=(2, 2))}
    data = MultiViewData(views, groups=[0, 0, 1, 1])
    assert data[1:3].groups.tolist() == [0, 1]
    assert data.compute().groups.tolist() == [0, 0, 1, 1]
    assert MultiViewData(views).compute().groups is None
