"""Join tables, by a key or by the order of their rows, into views and labels."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from consilience._suggest import suggest
from consilience.tables._categories import find_categories
from consilience.tables._identity import (
    ViewSources,
    check_key_is_given,
    inspect_tables,
    left_out_note,
    other_roles,
    select_features,
)
from consilience.tables._keys import check_spelling, gains_by_spelling
from consilience.tables._labels import (
    convert_labels,
    drop_rare_classes,
    merge_column,
    missing_label_notes,
    similar_class_notes,
)
from consilience.tables._leakage import names_groups
from consilience.tables._model import TableView, align_rows, align_view
from consilience.tables._roles import ColumnRole
from consilience.tables._table import Table, TableError, text_column
from consilience.tables._units import unit_notes
from consilience.tables._views import (
    check_not_constant,
    read_text_view,
    read_view,
    view_sources,
)
from consilience.views import MultiViewData
from consilience.views._join import check_keys, outer_join
from consilience.views._storage import format_list

__all__ = ["JoinedTables", "check_order", "join_tables", "sample_rows"]


@dataclass(frozen=True)
class JoinedTables:
    """Views, labels and groups of the samples, the columns of the views and files, and notes.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import pandas as pd
    >>> from consilience.tables import join_tables, read_file
    >>> table = pd.DataFrame({"hb": [13.1, 12.2] * 4, "crp": [2, 9] * 4, "ill": ["no", "yes"] * 4})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "blood.csv")
    ...     table.to_csv(path, index=False)
    ...     joined = join_tables(read_file(path), target="ill")
    >>> [role.role for role in joined.roles]
    ['number', 'number', 'target']
    """

    data: MultiViewData
    target: np.ndarray
    groups: np.ndarray | None
    views: dict[str, TableView]
    notes: list[str]
    roles: list[ColumnRole]
    key: str = ""  # column on which the tables were joined
    unlabelled: MultiViewData | None = None  # samples without a label


def join_tables(
    tables: Mapping[str, Table],
    *,
    target: str,
    on: str | None = None,
    groups: str | None = None,
    views: Mapping[str, Sequence[str]] | None = None,
    categorical: Collection[str] = (),
    keep: Collection[str] = (),
    drop: Collection[str] = (),
    drop_rare: int = 0,
    unlabelled: str = "drop",
) -> JoinedTables:
    """Join tables into views with labels.

    A column of free text becomes a view of its own, of the counts of its words.

    Parameters
    ----------
    tables : dict of name -> Table
        One view each, unless ``views`` divides the columns of a single one.
    target : str
        Column with the labels, in any of the tables.
    on : str, optional
        Key column; samples are in the order of their keys. Without it, row i of every table is
        sample i.
    groups : str, optional
        Column that says which samples belong together.
    views : dict of name -> columns, optional
        Views within one table.
    categorical : collection of str
        Columns whose numbers are categories.
    keep : collection of str
        Columns to use as features although they look like identifiers or dates.
    drop : collection of str
        Columns that are no features.
    drop_rare : int
        Leave out classes with fewer samples than this.
    unlabelled : {"drop", "use"}
        Whether samples without a label are returned as well.

    Returns
    -------
    JoinedTables

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import pandas as pd
    >>> from consilience.tables import join_tables, read_file
    >>> table = pd.DataFrame({"hb": [13.1, 12.2] * 4, "crp": [2, 9] * 4, "ill": ["no", "yes"] * 4})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "blood.csv")
    ...     table.to_csv(path, index=False)
    ...     joined = join_tables(read_file(path), target="ill")
    >>> joined.data.shape
    (8, 2)
    """
    notes: list[str] = []
    if unlabelled not in ("drop", "use"):
        raise TableError(f"--unlabelled must be drop or use, got {unlabelled!r}")
    if unlabelled == "use" and groups is not None:
        raise TableError("--unlabelled use cannot be combined with --groups")
    special = {name for name in (on, target, groups) if name is not None}
    _check_names(tables, special, [*categorical, *keep, *drop])
    if target in (on, groups):
        raise TableError(f"--target {target} cannot be the key or the groups as well")
    if special & set(keep):
        raise TableError(
            f"--keep {min(special & set(keep))}: the key, the target and the groups are no features"
        )
    if set(drop) & {*keep, *categorical}:
        both = min(set(drop) & {*keep, *categorical})
        raise TableError(f"--drop {both}: the column is also one to use")
    sources = view_sources(tables, special | set(drop), views, notes)
    if on is None:
        check_order(tables, special)
        contents = inspect_tables(tables, sources, special, {})
        check_key_is_given(tables, contents, keep)
        ids, rows = sample_rows(tables, on)
    else:
        ids, rows = _sort_by_key(*sample_rows(tables, on))
        orders = {name: table_rows[table_rows >= 0] for name, table_rows in rows.items()}
        contents = inspect_tables(tables, sources, special, orders)
    labels = merge_column(tables, rows, target, "--target")
    members = None if groups is None else merge_column(tables, rows, groups, "--groups")
    missing_labels = missing_label_notes(tables, target)
    notes += missing_labels
    others = other_roles(tables, sources, on, target, groups)
    features, text_sources, roles = select_features(sources, contents, keep, categorical)
    _check_features(sources, features, roles, is_divided=views is not None)
    given, sources = {**sources, **features}, features
    numbers = [role for role in roles if role.column not in categorical]
    if on is not None:
        _check_overlap(tables, sources, rows, on)
        spelling = check_spelling(tables, on)
        notes += [] if spelling is None else [spelling]
    table_views: dict[str, TableView] = {}
    values, present = {}, np.zeros((len(ids), len(sources)), dtype=bool)
    for v, (name, (source, columns)) in enumerate(sources.items()):
        table = tables[source]
        if name in text_sources and columns is not None:
            content, view = read_text_view(table, columns[0], text_sources[name])
            notes.append(f"{columns[0]!r} is free text; its {len(view.words)} words are a view")
        else:
            dates = [r.column for r in roles if (r.view, r.role) == (name, "date")]
            content, view = read_view(table, columns, categorical, dates)
            check_not_constant(content, name, table)
        table_views[name] = view
        values[name], present[:, v] = align_view(content, rows[source], view.empty_texts(table))
    common = drop_rare_classes(labels, drop_rare, target, notes)
    is_rare = np.array([old is not new for old, new in zip(labels, common, strict=True)])
    kept, others_kept = _usable_samples(ids, present, common, members, on, notes, unlabelled)
    if not len(kept):
        raise TableError("; ".join(["no sample has both a view and a label", *missing_labels]))
    others_kept = others_kept[~is_rare[others_kept]]

    def take(rows: np.ndarray) -> MultiViewData:
        return MultiViewData(
            {name: align_rows(view, rows) for name, view in values.items()},
            present=present[rows],
            sample_ids=np.array(ids, dtype=str)[rows] if on is not None else None,
        )

    data = take(kept)
    if len(others_kept):
        notes.append(f"{len(others_kept)} samples without a label help methods that can use them")
    y = convert_labels([labels[i] for i in kept], target, missing_labels)
    notes += similar_class_notes(y, target)
    table_views = {
        name: _complete_view(view, name, data[name], roles) for name, view in table_views.items()
    }
    notes += unit_notes(tables, {view: source for view, (source, _) in given.items()}, numbers)
    note = left_out_note(roles)
    notes += [] if note is None else [note]
    if groups is None:
        notes += _group_notes(tables, rows, others, kept, y)
    return JoinedTables(
        data,
        y,
        None if members is None else np.array([members[i] for i in kept], dtype=str),
        table_views,
        notes,
        _with_categories(roles, table_views) + others,
        unlabelled=take(others_kept) if len(others_kept) else None,
    )


def _group_notes(
    tables: Mapping[str, Table],
    rows: Mapping[str, np.ndarray],
    others: Sequence[ColumnRole],
    kept: np.ndarray,
    y: np.ndarray,
) -> list[str]:
    """Name columns of no view that look like ids of patients or the like."""
    notes = []
    for role in others:
        if role.role != "left out":
            continue
        cells = text_column(tables[role.view], role.column)
        own = rows[role.view][kept]
        if names_groups([cells[row] if row >= 0 else None for row in own], y):
            notes.append(
                f"column {role.column!r} has one class for each of its values; if it identifies "
                f"patients or the like, keep their rows together with --groups {role.column}"
            )
    return notes


def _sort_by_key(
    ids: list[str], rows: dict[str, np.ndarray]
) -> tuple[list[str], dict[str, np.ndarray]]:
    """Order the samples by key, so that the order of rows in the files does not matter."""
    order = sorted(range(len(ids)), key=ids.__getitem__)
    return [ids[i] for i in order], {name: table_rows[order] for name, table_rows in rows.items()}


def _check_features(
    sources: ViewSources, features: ViewSources, roles: Sequence[ColumnRole], is_divided: bool
) -> None:
    """Check that there are features, and that views the user has listed have some."""
    without = [view for view in sources if view not in features]
    if not sources or (not is_divided and not features):
        reasons = [f"{role.column!r} is left out ({role.reason})" for role in roles if role.reason]
        raise TableError(
            "no file has a column besides the key, the target and the groups"
            + "".join(f"; {reason}; --keep overrides" for reason in reasons[:1])
        )
    if is_divided and without:
        role = next(role for role in roles if role.view == without[0])
        raise TableError(
            f"--views {without[0]}: no column is a feature; {role.column!r} is left out "
            f"({role.reason}); --keep {role.column} overrides"
        )


def _complete_view(
    view: TableView, name: str, content: Any, roles: Sequence[ColumnRole]
) -> TableView:
    """Add the categories of the samples, and the columns that are no features."""
    left_out = tuple(r.column for r in roles if r.view == name and r.reason)
    categories = () if view.words else find_categories(content, view.text_columns)
    return replace(view, left_out=left_out, categories=categories)


def _with_categories(
    roles: Sequence[ColumnRole], views: Mapping[str, TableView]
) -> list[ColumnRole]:
    """Roles in which the columns that were read as text are categories."""
    text = {(name, column) for name, view in views.items() for column in view.text_columns}
    return [
        replace(role, role="category")
        if (role.view, role.column) in text and role.role != "text"
        else role
        for role in roles
    ]


def sample_rows(
    tables: Mapping[str, Table], on: str | None
) -> tuple[list[str], dict[str, np.ndarray]]:
    """Ids of the samples, and the row of each in every table (−1 where it has none)."""
    if on is None:
        counts = {name: table.n_rows for name, table in tables.items()}
        if len(set(counts.values())) > 1:
            message = ", ".join(f"{tables[n].path} has {count}" for n, count in counts.items())
            raise TableError(
                f"the files have different numbers of rows ({message}); join them with --on"
            )
        _check_blank_rows(tables)
        n = next(iter(counts.values()))
        return [str(i) for i in range(n)], dict.fromkeys(tables, np.arange(n))
    _check_not_transposed(tables, on)
    return outer_join({name: _keys(table, on) for name, table in tables.items()})


def _check_blank_rows(tables: Mapping[str, Table]) -> None:
    """Check that files lack the same rows, if those without a cell were left out of several."""
    with_blank = [table for table in tables.values() if table.blank_rows]
    for one, other in combinations(with_blank, 2):
        if one.blank_rows != other.blank_rows:
            raise TableError(
                f"{one.path} and {other.path} have empty rows in different places, such as row "
                f"{one.blank_rows[0] + 1} and row {other.blank_rows[0] + 1}, so their rows cannot "
                "be matched by their order; join them with --on, or fill or remove empty rows"
            )


def _check_not_transposed(tables: Mapping[str, Table], on: str) -> None:
    """Check that no table without the key has the keys of another in its header."""
    keys = {key for t in tables.values() if on in t.columns for key in text_column(t, on)}
    for name, table in tables.items():
        if on not in table.columns and len(keys & set(table.columns)) > 1:
            raise TableError(
                f"the columns of {table.path} are samples, since their names occur in {on!r} of "
                f"another file; add --transpose {name}"
            )


def check_order(tables: Mapping[str, Table], special: set[str]) -> None:
    """Check that no two files have the same keys in a different order."""
    for one, other in combinations(tables.values(), 2):
        if one.path == other.path:
            continue
        for column in set(one.columns) & set(other.columns) - special:
            first, second = text_column(one, column), text_column(other, column)
            is_key = len(set(first)) == len(first) > 1
            if is_key and first != second and set(first) == set(second):
                raise TableError(
                    f"{one.path} and {other.path} have the same {column!r} in a different order; "
                    f"join them with --on {column}"
                )


def _check_names(
    tables: Mapping[str, Table], special: set[str], categorical: Collection[str]
) -> None:
    known = {column for table in tables.values() for column in table.columns}
    for name in [*special, *categorical]:
        if name not in known:
            raise TableError(
                f"no file has a column {name!r}{suggest(name, sorted(known))}; the columns are "
                f"{format_list(sorted(known), limit=12)}"
            )


def _keys(table: Table, on: str) -> list[str | None]:
    """Keys as text, so that "1" and "01" differ."""
    if on not in table.columns:
        raise TableError(
            f"{table.path} has no column {on!r} to join on{suggest(on, table.columns)}; it has "
            f"{format_list(table.columns, limit=12)}; a key of another name is given with "
            "--key VIEW=COLUMN"
        )
    keys = [key or None for key in text_column(table, on)]
    try:
        check_keys(keys, table=table.path, on=on, first_row=1)
    except ValueError as error:
        raise TableError(str(error)) from None
    return keys


def _check_overlap(
    tables: Mapping[str, Table],
    views: Mapping[str, tuple[str, list[str] | None]],
    rows: Mapping[str, np.ndarray],
    on: str,
) -> None:
    """Check that every table shares keys with some other table."""
    sources = list(dict.fromkeys(source for source, _ in views.values()))
    sources += [name for name in tables if name not in sources]
    if len(sources) < 2:
        return
    for name in sources:
        is_present = rows[name] >= 0
        if not any((is_present & (rows[other] >= 0)).any() for other in sources if other != name):
            raise TableError(
                f"no {on!r} of {tables[name].path} occurs in another file; its first is "
                f"{text_column(tables[name], on)[0]!r}{_spelling_hint(tables, name, on)}"
            )


def _spelling_hint(tables: Mapping[str, Table], name: str, on: str) -> str:
    """Name the option that joins keys which differ in case, blanks or leading zeros only."""
    if gains_by_spelling(tables, on)[name][1]:
        return "; they differ in case, blanks or leading zeros only: add --normalise-keys"
    return ""


def _usable_samples(
    ids: list[str],
    present: np.ndarray,
    labels: list[str | None],
    members: list[str | None] | None,
    on: str | None,
    notes: list[str],
    unlabelled: str,
) -> tuple[np.ndarray, np.ndarray]:
    """Indices of the samples with a label, and of others to use; those left out are noted."""
    has_view = present.any(axis=1)
    has_label = np.array([label is not None for label in labels])
    has_group = np.array([m is not None for m in members]) if members else np.ones(len(ids), bool)
    without_label = has_view & ~has_label
    for mask, reason in (
        (~has_view, "have no view"),
        (without_label & (unlabelled == "drop"), "have no label"),
        (has_view & has_label & ~has_group, "have no group"),
    ):
        if mask.any():
            excluded = [ids[i] for i in np.flatnonzero(mask)]
            word = "samples" if on else "rows"
            notes.append(f"left out: {mask.sum()} {word} that {reason} ({format_list(excluded)})")
    kept = np.flatnonzero(has_view & has_label & has_group)
    return kept, np.flatnonzero(without_label & (unlabelled == "use"))
