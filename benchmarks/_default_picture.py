"""The picture of docs/results/default.md, drawn from its table."""

import re
from pathlib import Path

import matplotlib.pyplot as plt

FOLDER = Path(__file__).parents[1] / "docs" / "results"


def read_table(text):
    """Rows of the table "m = 100": name -> accuracies, and the names of the methods."""
    lines = text[text.index("| m = 100 | Consilience") :].split("\n\n")[0].splitlines()
    methods = [cell.strip() for cell in lines[0].strip("|").split("|")[1:]]
    rows = {}
    for line in lines[2:]:
        name, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        if "mean" not in name:
            rows[name] = [float(re.match(r"[.\d]+", cell).group()) for cell in cells]
    return methods, rows


def main():
    methods, rows = read_table((FOLDER / "default.md").read_text())
    figure, axes = plt.subplots(figsize=(7.5, 3.4), layout="constrained")
    for j, method in enumerate(methods):
        style = {"s": 70, "color": "#c0392b", "zorder": 3} if j == 0 else {"s": 28, "alpha": 0.8}
        values = [accuracies[j] for accuracies in rows.values()]
        axes.scatter(values, range(len(rows)), label=method, **style)
    axes.set_yticks(range(len(rows)), rows)
    axes.invert_yaxis()
    axes.set_xlabel("accuracy with 100 training rows, mean of five splits")
    axes.grid(axis="x", alpha=0.3)
    axes.legend(loc="lower left", fontsize=8, frameon=False)
    figure.savefig(FOLDER / "default.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
