"""Write the numbers of ``frozen/``; see ``outputs.py``."""

import sys
import tempfile
from pathlib import Path

import numpy as np

FROZEN = Path(__file__).parent / "frozen"
sys.path.insert(0, str(Path(__file__).parents[1]))


def main():
    import threadpoolctl
    from sklearn.base import clone

    from golden import outputs

    for case in outputs.CASES:
        arrays = {}
        for name, model in outputs.estimators_of(case).items():
            for method, values in outputs.classifier_outputs(clone(model), case).items():
                arrays[f"{name}|{method}"] = values
        np.savez_compressed(FROZEN / f"{case}.npz", **arrays)
    np.savez_compressed(FROZEN / "others.npz", **outputs.other_outputs())
    with tempfile.TemporaryDirectory() as folder:
        np.savez_compressed(FROZEN / "scores.npz", **outputs.study_scores(Path(folder)))
    blas = {info.get("architecture") for info in threadpoolctl.threadpool_info()} - {None}
    (FROZEN / "blas.txt").write_text(" ".join(sorted(blas)) + "\n")


if __name__ == "__main__":
    main()
