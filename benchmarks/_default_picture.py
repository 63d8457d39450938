"""The picture of docs/results/default.md, drawn from default-natural.csv."""

from pathlib import Path

import matplotlib.pyplot as plt

from default import BOOSTING, NATURAL, OURS, read_scores

FOLDER = Path(__file__).parents[1] / "docs" / "results"


def main(size=100):
    methods = dict(read_scores(NATURAL, "accuracy")[size])
    if BOOSTING.is_file():
        methods |= read_scores(BOOSTING, "accuracy")[size]
    names = sorted(methods[OURS], key=methods[OURS].get)
    figure, axes = plt.subplots(figsize=(8, 4.6), layout="constrained")
    for method, scores in methods.items():
        is_ours = method == OURS
        style = {"s": 75, "color": "#c0392b", "zorder": 3} if is_ours else {"s": 26, "alpha": 0.75}
        rows = [row for row, name in enumerate(names) if name in scores]
        axes.scatter([scores[names[row]] for row in rows], rows, label=method, **style)
    axes.set_yticks(range(len(names)), names)
    axes.set_xlabel(f"accuracy with {size} training rows")
    axes.grid(alpha=0.3)
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize=8, frameon=False)
    figure.savefig(FOLDER / "default.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
