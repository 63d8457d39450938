"""Every bundled suite in a small size: all its methods run on stand-ins for its data sets.

    python benchmarks/suites.py [--quick]

A stand-in has the names of the views, 60 rows and three columns a view; of every grid the first and
the last value are kept. One split, one class against the rest, and the first two conditions are
run, in this process. With --quick a suite of many data sets is run on two of them. What comes out
says nothing about methods; that every fit of every suite can be done, it does.
"""

import sys
import time
import warnings

import numpy as np
from msgspec.structs import replace
from scipy.spatial.distance import cdist
from sklearn.utils import Bunch

from consilience.benchmark import load_suite, plan, suite_names
from consilience.benchmark.problems import GENERATORS, ProblemCache
from consilience.benchmark.protocol import Holdout, Official
from consilience.benchmark.suite import DatasetEntry
from consilience.benchmark.work import execute
from consilience.datasets import make_multiview_classification
from consilience.methods import METHODS
from consilience.views import MultiViewData

N_ROWS, N_TRAIN, MANY_DATASETS = 60, 20, 5
TWO_CLASSES = ("course", "ads", "indoor", "nutrimouse", "indoor-subset")
VIEWS = {
    "course": ["fulltext", "inlinks"],
    "ads": ["image", "links"],
    "indoor": ["wifi_a", "wifi_b"],
    "indoor-subset": ["wifi_a", "wifi_b"],
}
SMALL = {"n_landmarks": 10, "n_estimators": 5, "estimator__n_estimators": 5}


def stand_in(name):
    """A small problem with the names of the views of a data set."""
    views = VIEWS.get(name, ["a", "b", "c"])
    n_classes = 2 if name in TWO_CLASSES else 3
    data, y = make_multiview_classification(
        N_ROWS, n_views=len(views), n_classes=n_classes, n_features=3, random_state=0
    )
    values = np.abs(np.stack([view for _, view in data.items()]))
    rows = np.random.default_rng(0).permutation(N_ROWS)
    split = {"train": np.sort(rows[:40]), "test": np.sort(rows[40:])}
    kind = "distance" if name == "flower17" else "features"
    parts = [cdist(X, X) if kind == "distance" else X for X in values]
    kinds = dict.fromkeys(views, kind)
    stand_in = MultiViewData(dict(zip(views, parts, strict=True)), kinds=kinds)
    return Bunch(data=stand_in, target=y, splits={"1": split})


def small_dataset(entry):
    if entry.name in GENERATORS:
        parameters = {**entry.parameters, "n_samples": N_ROWS}
        return replace(entry, parameters=parameters, split=None)
    return DatasetEntry(
        name=f"stand-in for {entry.title}",
        label=entry.title,
        loader="suites:stand_in",
        parameters={"name": entry.name},
    )


def small_method(method):
    grid = {name: [values[0], values[-1]] for name, values in method.grid.items()}
    known = METHODS[method.recipe].make_estimator(0).get_params()
    settings = dict(method.settings)
    for name, value in SMALL.items():
        sizes = [v for key, v in known.items() if key in (name, f"classifier__{name}")]
        if any(isinstance(size, int) for size in [*sizes, settings.get(name)]):
            settings[name] = value
    return replace(method, grid=grid, settings=settings)


def small_suite(name, quick):
    suite = load_suite(name)
    datasets = [small_dataset(entry) for entry in suite.datasets]
    if quick and len(datasets) >= MANY_DATASETS:
        datasets = datasets[:2]
    split = suite.protocol.split
    validation = 0.25 if getattr(split, "validation", 0) else 0
    if not isinstance(split, Official):
        split = Holdout(repeats=1, test=0.3, validation=validation)
    sizes = None if suite.protocol.train_size is None else N_TRAIN
    protocol = replace(suite.protocol, split=split, train_size=sizes, tuning_folds=2)
    methods = [small_method(method) for method in suite.methods]
    titles = {entry.title for entry in datasets}
    methods = [m for m in methods if m.datasets is None or titles & set(m.datasets)]
    return replace(suite, datasets=datasets, protocol=protocol, methods=methods)


def small_tasks(suite):
    tasks, _ = plan(suite)
    conditions = list(dict.fromkeys(task.condition for task in tasks))
    return [
        task
        for task in tasks
        if task.index == 0 and task.positive_class in (None, 0) and task.condition in conditions[:2]
    ]


def main():
    quick, problems, failures = "--quick" in sys.argv, ProblemCache(), []
    warnings.simplefilter("ignore")
    print(f"{'suite':18} {'fits':>5} {'seconds':>8}")
    for name in suite_names():
        start = time.process_time()
        try:
            tasks = small_tasks(small_suite(name, quick))
        except ValueError as error:
            failures.append(str(error))
            continue
        for task in tasks:
            problem = problems.get(task.data, task.data_parameters, task.data_source)
            outcome = execute(task, problem)
            if outcome.status != "done":
                failures.append(f"{name}, {task.dataset_name}, {task.method_name}: {outcome.error}")
        print(f"{name:18} {len(tasks):5} {time.process_time() - start:8.1f}", flush=True)
    print("\n".join(failures))
    sys.exit(bool(failures))


if __name__ == "__main__":
    sys.modules["suites"] = sys.modules[__name__]
    main()
