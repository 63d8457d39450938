"""``run.toml``: what was compared and how; enough to repeat it and to write its report again."""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Struct

from consilience.benchmark.publish import write_file

__all__ = ["DataSummary", "InputFile", "Options", "Run", "ViewPattern", "ViewSummary", "read_run"]

FILE = "run.toml"


class ViewSummary(Struct, forbid_unknown_fields=True):
    """One view for the reader of the report."""

    name: str
    columns: int
    stored: str
    text_columns: int = 0
    missing_rows: int = 0
    missing_cells: float = 0.0
    kind: str = "features"


class ViewPattern(Struct, forbid_unknown_fields=True):
    """How many samples have just these views."""

    views: list[str]
    samples: int


class DataSummary(Struct, forbid_unknown_fields=True):
    """The data for the reader of the report."""

    name: str
    samples: int
    data_hash: str  # fingerprint
    classes: list[str]
    counts: list[int]
    views: list[ViewSummary]
    patterns: list[ViewPattern]
    notes: list[str] = []
    groups: int = 0

    @property
    def has_pairwise_views(self) -> bool:
        """Whether some views are kernel or distance matrices."""
        return any(view.kind != "features" for view in self.views)


class InputFile(Struct, forbid_unknown_fields=True):
    """A file that was read."""

    path: str
    sha256: str


class Options(Struct, forbid_unknown_fields=True):
    """Settings of the comparison."""

    methods: list[str]
    cv: int
    repeats: int
    metric: str
    seed: int
    tune: bool


class Run(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """One comparison."""

    version: str
    command: list[str]
    options: Options
    data: DataSummary
    inputs: list[InputFile] = []
    target: str = ""
    on: str = ""
    single_file: bool = False  # which --views divided
    not_applicable: dict[str, str] = {}  # methods that were asked for, and why they cannot
    best: str = ""  # method of the model beside this file
    notes: list[str] = []

    def reasons(self) -> dict[str, list[str]]:
        """Why methods are not applicable, with the methods that a reason is true of."""
        result: dict[str, list[str]] = {}
        for method, reason in self.not_applicable.items():
            result.setdefault(reason, []).append(method)
        return result

    def write(self, folder: Path) -> None:
        """Write ``run.toml`` as a whole or not at all."""
        text = msgspec.toml.encode(self).decode()
        write_file(folder / FILE, f"# written by consilience compare\n{text}")


def read_run(folder: Path) -> Run:
    """The run in a folder, or one sentence about why there is none."""
    path = folder / FILE
    try:
        return msgspec.toml.decode(path.read_bytes(), type=Run)
    except FileNotFoundError:
        raise ValueError(f"{folder} holds no comparison: there is no {path.name} in it") from None
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is damaged: {error}") from None
