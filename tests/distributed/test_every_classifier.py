"""Every public classifier fits from blocks, or says in one sentence why not and what to use."""

import numpy as np
import pytest
from sklearn.base import clone

from common.estimators import CLASSIFIERS
from consilience import MultiViewData
from consilience.distributed import BlockSequence
from consilience.distributed._mixin import BlockwiseFitMixin
from reference.blocks import make


@pytest.mark.parametrize("kind", ["BlockSequence", "dask"])
@pytest.mark.parametrize("name", list(CLASSIFIERS))
def test_fits_from_blocks_or_says_why_not(name, kind):
    data, y, _ = make(60)
    data = data.select(["a", "b"])
    data = MultiViewData(dict(data.items()), present=np.ones((60, 2), dtype=bool))
    if kind == "dask":
        da = pytest.importorskip("dask.array")
        views = {name: da.from_array(X, chunks=(25, -1)) for name, X in data.items()}
        given = MultiViewData(views), y
    else:
        given = (BlockSequence.cut(data, y, rows=25),)
    model = clone(CLASSIFIERS[name])
    if isinstance(model, BlockwiseFitMixin):
        try:
            assert model.fit(*given).predict(data).shape == (60,)
            return
        except (TypeError, ValueError) as error:
            message = str(error)
    else:
        with pytest.raises(TypeError) as caught:
            model.fit(*given)
        message = str(caught.value)
        assert type(model).__name__ in message
        assert "because" in message
    assert "use " in message or "need " in message
    assert "\n" not in message


def test_some_do():
    fitting = [name for name, model in CLASSIFIERS.items() if isinstance(model, BlockwiseFitMixin)]
    assert {"ConsilienceClassifier", "EarlyFusionClassifier", "SMVMEDClassifier"} <= set(fitting)
