"""docs/results/features.svg from docs/results/features.csv: areas under the ROC curve by setting.

python benchmarks/_feature_picture.py
"""

import csv
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

RESULTS = Path(__file__).parents[1] / "docs" / "results"
TITLES = {
    "shifts": "10 shifts",
    "weak shifts": "30 weak shifts",
    "blocks": "blocks",
    "copies": "copies",
    "interactions": "interactions",
    "label noise": "wrong labels",
}
METHODS = {"ours": "#3f7fd0", "F test": "#d9822b", "impurity": "#2a9d8f", "SHAP": "#8a939e"}


def mean_area(rows, setting, n, method):
    """Mean over the widths, of draw 0, of which all methods have been run."""
    own = {"setting": setting, "n": n, "draw": "0"}
    chosen = [row for row in rows if all(row[key] == value for key, value in own.items())]
    return np.mean([float(row[method]) for row in chosen if row[method]])


def main():
    with open(RESULTS / "features.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "features", "font.size": 9})
    fig = Figure(figsize=(8, 3), layout="constrained")
    for ax, n in zip(fig.subplots(1, 2, sharey=True), ("100", "300"), strict=True):
        for m, (method, colour) in enumerate(METHODS.items()):
            places = np.arange(len(TITLES)) + 0.2 * (m - 1.5)
            areas = [mean_area(rows, setting, n, method) for setting in TITLES]
            ax.bar(places, areas, 0.18, color=colour, label=method)
        ax.set_xticks(range(len(TITLES)), TITLES.values(), rotation=30, ha="right")
        ax.set_title(f"{n} rows")
        ax.set_ylim(0.5, 1.0)
        ax.spines[["top", "right"]].set_visible(False)
    fig.axes[0].set_ylabel("area under the ROC curve")
    fig.legend(*fig.axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    fig.savefig(RESULTS / "features.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
