"""Write the numbers of ``frozen/``; see ``outputs.py``.

python tests/golden/freeze.py [CLASSIFIER ...]

With names, only those classifiers are computed, and all other numbers are kept as they are.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

FROZEN = Path(__file__).parent / "frozen"
sys.path.insert(0, str(Path(__file__).parents[1]))


def main(names):
    from golden import outputs

    for case in outputs.CASES:
        models = outputs.estimators_of(case)
        if not names:
            np.savez_compressed(FROZEN / f"{case}.npz", **outputs_of(models, case))
        elif own := {name: models[name] for name in names if name in models}:
            kept = dict(np.load(FROZEN / f"{case}.npz"))
            kept = {key: kept[key] for key in kept if key.split("|")[0] not in own}
            np.savez_compressed(FROZEN / f"{case}.npz", **kept, **outputs_of(own, case))
    if not names:
        freeze_others()


def outputs_of(models, case):
    """Name of a classifier and method -> output."""
    from sklearn.base import clone

    from golden import outputs

    return {
        f"{name}|{method}": values
        for name, model in models.items()
        for method, values in outputs.classifier_outputs(clone(model), case).items()
    }


def freeze_others():
    """Write all that is not about one classifier."""
    import threadpoolctl

    from golden import outputs

    np.savez_compressed(FROZEN / "others.npz", **outputs.other_outputs())
    with tempfile.TemporaryDirectory() as folder:
        np.savez_compressed(FROZEN / "scores.npz", **outputs.study_scores(Path(folder)))
    blas = {info.get("architecture") for info in threadpoolctl.threadpool_info()} - {None}
    (FROZEN / "blas.txt").write_text(" ".join(sorted(blas)) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
