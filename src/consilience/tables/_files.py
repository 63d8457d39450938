"""Files of tables, read as a frame, a matrix, or both.

Any problem with a file is reported in one sentence that names it.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from consilience.tables._arrow_files import read_feather, read_parquet
from consilience.tables._content import COMPRESSIONS, file_kind, file_stem
from consilience.tables._excel import read_excel
from consilience.tables._matrix_files import read_npz, read_svmlight
from consilience.tables._missing import empty_cells
from consilience.tables._omics import read_h5ad, read_h5mu
from consilience.tables._table import Table, TableError
from consilience.tables._text_files import read_text
from consilience.tables._text_format import DELIMITERS, ReadOptions

__all__ = ["READABLE", "read_file"]

SVMLIGHT = (".svm", ".svmlight", ".libsvm")
EXCEL = (".xlsx", ".xlsm", ".xls")
PARQUET = (".parquet", ".pq")
FEATHER = (".feather", ".arrow")
WITH_PARTS = (*EXCEL, ".h5ad", ".h5mu")
CONTROL_CHARACTERS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x9b]")
READABLE = (*DELIMITERS, *PARQUET, *FEATHER, *EXCEL, ".npz", ".h5ad", ".h5mu", *SVMLIGHT)


@contextmanager
def _reading_errors(path: Path) -> Iterator[None]:
    """Turn any error of a reader into one sentence that names the file."""
    try:
        yield
    except TableError:
        raise
    except ImportError as error:
        raise TableError(f"{path} cannot be read: {error}") from None
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise TableError(
            f"{path} is not encoded in {error.encoding} (byte {byte:#04x} at {error.start}); give "
            "its encoding with --encoding, such as cp1252 or utf-16"
        ) from None
    except OSError as error:
        reason = error.strerror or (str(error).splitlines() or ["unknown reason"])[0]
        raise TableError(f"{path} cannot be read: {reason}") from None
    except MemoryError:
        raise TableError(f"{path} cannot be read: it needs more memory than there is") from None
    except OverflowError:
        raise TableError(f"{path} cannot be read: it contains a number that is too large") from None
    except csv.Error as error:
        if "new-line character" not in str(error):
            raise TableError(f"{path} cannot be read: {error}") from None
        raise TableError(
            f"{path} cannot be read: some of its lines end with a carriage return alone, others do "
            "not; save it with line ends of one kind"
        ) from None
    except Exception as error:  # readers raise all kinds of errors for damaged content
        message = (str(error).splitlines() or [type(error).__name__])[0][:300]
        if "invalid UTF8" in message:
            message += "; give its encoding with --encoding, such as cp1252 or utf-16"
        raise TableError(f"{path} cannot be read: {message}") from None


def read_file(
    path: str | Path,
    *,
    part: str | None = None,
    options: ReadOptions | None = None,
    n_features: int | None = None,
    first_index: int | None = None,
) -> dict[str, Table]:
    """Read the tables of a file, named after the file or after the matrices or sheets in it.

    Parameters
    ----------
    path : str or path
        A text file (.csv, .tsv, .tab, .txt, .dat, also compressed as .gz, .bz2, .zst or .zip), or
        a file whose name ends in .parquet, .feather, .xlsx, .xls, .npz, .h5ad, .h5mu or .svm.
    part : str, optional
        Sheet of a workbook, or layer or ``obsm/NAME`` of an h5ad file.
    options : ReadOptions, optional
        How text files are written; determined from each file by default.
    n_features : int, optional
        Number of columns of an svmlight file, which does not record it.
    first_index : {0, 1}, optional
        Index of the first feature of an svmlight file; by default 1 unless the file contains a 0.

    Returns
    -------
    dict of str -> Table

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import pandas as pd
    >>> from consilience.tables import read_file
    >>> table = pd.DataFrame({"hb": [13.1, 12.2] * 4, "crp": [2, 9] * 4, "ill": ["no", "yes"] * 4})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "blood.csv")
    ...     table.to_csv(path, index=False)
    ...     read_file(path)["blood"].frame.column_names
    ['hb', 'crp', 'ill']
    """
    path, options = Path(path), options or ReadOptions()
    kind, is_compressed = file_kind(path), path.suffix.lower() in COMPRESSIONS
    if path.is_dir():
        raise TableError(f"{path} is a folder, not a file")
    readers: dict[str, Callable[[], Table | dict[str, Table]]] = {
        **dict.fromkeys(DELIMITERS, lambda: read_text(path, options)),
        **dict.fromkeys(PARQUET, lambda: read_parquet(path, options)),
        **dict.fromkeys(FEATHER, lambda: read_feather(path, options)),
        **dict.fromkeys(EXCEL, lambda: read_excel(path, part, options)),
        ".npz": lambda: read_npz(path),
        ".h5ad": lambda: read_h5ad(path, part),
        ".h5mu": lambda: read_h5mu(path, part),
        **dict.fromkeys(SVMLIGHT, lambda: read_svmlight(path, n_features, first_index)),
    }
    if kind not in readers:
        raise TableError(f"{path} has an unknown format; the name must end in {_endings()}")
    if is_compressed and kind not in DELIMITERS:
        raise TableError(f"{path}: only text files are read compressed; unpack it")
    if part is not None and kind not in WITH_PARTS:
        raise TableError(f"{path} has no part {part!r}; only workbooks, h5ad and h5mu have parts")
    with _reading_errors(path):
        if path.stat().st_size == 0:
            raise TableError(f"{path} is empty")
        content = readers[kind]()
        tables = content if isinstance(content, dict) else {file_stem(path): content}
        tables = {
            name: empty_cells(table, options.na, options.text_columns)
            for name, table in tables.items()
        }
    _check_names(path, "a table", tables)
    for table in tables.values():
        if table.n_rows == 0:
            raise TableError(f"{path} has no rows")
        _check_names(path, "a column", [*table.frame.column_names, *(table.matrix_columns or ())])
    return tables


def _check_names(path: Path, what: str, names: Iterable[str]) -> None:
    """Names are printed, and a terminal obeys control characters."""
    wrong = [name for name in names if CONTROL_CHARACTERS.search(name)]
    if wrong:
        raise TableError(
            f"{str(path)!r} has {what} named {wrong[0]!r}; rename it without control characters"
        )


def _endings() -> str:
    return f"{', '.join(sorted(READABLE))}, text files also in {', '.join(COMPRESSIONS)}"
