"""Files as users have them, written into a folder."""

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
from pyarrow import csv, parquet
from sklearn.datasets import dump_svmlight_file

FAST = "Late fusion,Early fusion,MwMvC2"


def patients(folder, n=90, seed=0, prefix="train_", labels=True):
    """Two csv files with different patients, string labels, a categorical column, missing cells."""
    rng = np.random.default_rng(seed)
    ids = np.array([f"P{i:03}" for i in range(n)])
    ill = rng.random(n) < 0.5
    rna = rng.normal(size=(n, 4)) + 1.5 * ill[:, None]
    cells = [[f"{x:.4f}" for x in row] for row in rna]
    for row in range(0, n, 7):
        cells[row][row % 4] = "NA"
    site = np.where(rng.random(n) < 0.3 + 0.4 * ill, "north", "south")
    protein = rng.normal(size=(n, 3)) - 1.5 * ill[:, None]
    first, second = rng.permutation(n)[: n * 4 // 5], rng.permutation(n)[: n * 4 // 5]
    head = ["patient", *(f"g{j}" for j in range(4)), "site"]
    lines = [",".join(head)] + [",".join([ids[i], *cells[i], site[i]]) for i in first]
    (folder / f"{prefix}rna.csv").write_text("\n".join(lines) + "\n")
    table = {"patient": ids[second], **{f"p{j}": protein[second, j] for j in range(3)}}
    csv.write_csv(pa.table(table), folder / f"{prefix}protein.csv")
    if labels:
        names = pa.table({"patient": ids, "subtype": np.where(ill, "luminal A", "basal")})
        csv.write_csv(names, folder / f"{prefix}labels.csv")
    return ids[sorted(set(first) | set(second))], dict(zip(ids, ill, strict=True))


def documents(folder, n=80, seed=0, prefix=""):
    """A sparse svmlight view and a dense parquet view with the labels."""
    rng = np.random.default_rng(seed)
    topic = rng.integers(0, 3, size=n)
    words = sp.random_array((n, 60), density=0.1, random_state=rng, format="lil")
    for i, t in enumerate(topic):
        words[i, 20 * t : 20 * t + 3] = 1.0 + rng.random(3)
    # the last column tells every file its width
    words[0, 59] = 1.0
    dump_svmlight_file(sp.csr_matrix(words), topic, str(folder / f"{prefix}text.svm"))
    dense = rng.normal(size=(n, 5)) + topic[:, None]
    columns = {f"x{j}": dense[:, j] for j in range(5)}
    parquet.write_table(pa.table({**columns, "topic": topic}), folder / f"{prefix}meta.parquet")
    return topic


def wide(folder, n=80, seed=0, name="wide.csv", views=("a", "b")):
    """One wide csv: columns a0..a4 and b0..b5, a label of two classes, a column to leave out."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, size=n)
    widths = {"a": 5, "b": 6}
    columns = {"visit": np.arange(n)}
    for view, width in widths.items():
        block = rng.normal(size=(n, width)) + y[:, None]
        if view in views:
            columns |= {f"{view}{j}": block[:, j] for j in range(width)}
    columns["outcome"] = y
    csv.write_csv(pa.table(columns), folder / name)
    return y
