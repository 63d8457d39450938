"""Columns for ``.var`` of h5ad and h5mu files, written into a copy of the file."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from consilience._atomic_write import replaced_atomically
from consilience.tables._arguments import FileArgument
from consilience.tables._content import file_kind, file_stem
from consilience.tables._omics import import_readers, read_frame
from consilience.tables._table import TableError

__all__ = ["VarColumns", "VarCopy", "plan_var_copies", "write_var_copy"]

PREFIX = "consilience_"
OMICS = (".h5ad", ".h5mu")


@dataclass(frozen=True)
class VarColumns:
    """Values of the features of a view by the names of their columns."""

    features: Sequence[str]
    columns: Mapping[str, np.ndarray]


@dataclass(frozen=True)
class VarCopy:
    """A file to copy, where to, and the view that each of its tables of variables describes."""

    source: Path
    target: Path
    views: tuple[tuple[str, str], ...]  # modality ("" of an h5ad file) and view


def plan_var_copies(files: Sequence[FileArgument], folder: Path) -> list[VarCopy]:
    """Copies of the h5ad and h5mu files in a folder; a file is never written over."""
    views: dict[Path, list[tuple[str, str]]] = {}
    for file in files:
        if file_kind(file.path) in OMICS and not (file.part or "").startswith("obsm/"):
            views.setdefault(file.path, []).extend(_views_of(file))
    if not views:
        raise TableError(
            "--write-var needs an h5ad or h5mu file, whose .var gets the importance of the features"
        )
    repeated = [name for name, n in Counter(path.name for path in views).items() if n > 1]
    if repeated:
        raise TableError(
            f"--write-var: several files are called {repeated[0]!r}, so their copies would be one "
            "file; rename them"
        )
    copies = [VarCopy(path, folder / path.name, tuple(pairs)) for path, pairs in views.items()]
    for copy in copies:
        if copy.target.exists() and copy.target.samefile(copy.source):
            raise TableError(
                f"--write-var: the copy of {copy.source} would replace it; choose another --out"
            )
    return copies


def _views_of(file: FileArgument) -> list[tuple[str, str]]:
    """Modalities of a file, and the views that they were read as."""
    if file_kind(file.path) == ".h5ad":
        return [("", file.view or file_stem(file.path))]
    h5py, _ = import_readers()
    with h5py.File(file.path, "r") as content:
        names = list(content["mod"]) if file.part is None else [file.part]
    if file.view is None:
        return [(name, name) for name in names]
    return [(name, file.view if len(names) == 1 else f"{file.view}.{name}") for name in names]


def write_var_copy(copy: VarCopy, values: Mapping[str, VarColumns]) -> None:
    """Copy a file and add columns to its tables of variables, named after the features.

    Variables that are no feature get NaN, or empty text.
    """
    h5py, _ = import_readers()
    from anndata.io import write_elem

    n_views = Counter(modality for modality, _ in copy.views)
    try:
        with replaced_atomically(copy.target) as temporary:
            shutil.copyfile(copy.source, temporary)
            with h5py.File(temporary, "r+") as file:
                for modality, view in copy.views:
                    if view not in values:
                        continue
                    group = file["mod"][modality] if modality else file
                    frame = read_frame(copy.source, group, "var")
                    ending = "" if n_views[modality] == 1 else f"_{view}"
                    for name, column in _align(values[view], frame.index).items():
                        frame[f"{PREFIX}{name}{ending}"] = column
                    write_elem(group, "var", frame)
    except OSError as error:
        reason = error.strerror or (str(error).splitlines() or ["unknown reason"])[0]
        raise TableError(f"{copy.target} cannot be written: {reason}") from None


def _align(values: VarColumns, index: Any) -> dict[str, np.ndarray]:
    position = {feature: j for j, feature in enumerate(values.features)}
    rows = np.array([position.get(str(name), -1) for name in index], dtype=int)
    return {
        name: np.where(rows < 0, np.nan if column.dtype.kind == "f" else "", column[rows])
        for name, column in values.columns.items()
    }
