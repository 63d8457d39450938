"""What a built wheel must do in an environment with nothing but itself: fit, predict, save.

python tests/wheel_smoke.py; a script and no test module, because it must not see the sources.
"""

import numpy as np

import consilience
from consilience import ConsilienceClassifier
from consilience.boosting import MuMBoClassifier
from consilience.datasets import load_digits_views
from consilience.landmark import MVLSVMClassifier
from consilience.margin import SMVMEDClassifier
from consilience.vote import MwMvC2Classifier

data, y = load_digits_views(return_X_y=True)
for model in (
    ConsilienceClassifier(n_estimators=10, random_state=0),
    MuMBoClassifier(n_estimators=10, random_state=0),
    MVLSVMClassifier(10, random_state=0),
    SMVMEDClassifier(c=0.1, kernel="rbf"),
    MwMvC2Classifier(random_state=0),
):
    model.fit(data[:300], y[:300])
    score = model.score(data[300:], y[300:])
    assert score > 0.6, (type(model).__name__, score)
    assert np.isfinite(model.decision_function(data[300:310].select(["top_left"]))).all()
    print(f"{type(model).__name__:24s} {score:.3f}")
print("consilience", consilience.__version__, consilience.__file__)
