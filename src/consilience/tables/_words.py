"""Free text as words: the words of a column, and how often each occurs in every cell.

The words are chosen without the labels, and a cell is counted without regard to the others, so
that nothing of the test rows of a split reaches a fit. Methods prepare the counts in their own way.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence

import numpy as np
import scipy.sparse as sp

__all__ = ["count_words", "find_words", "name_text_views"]

WORD = re.compile(r"\w\w+")
MIN_CELLS = 2  # in which a word occurs
MAX_WORDS = 5000  # the most frequent ones


def find_words(cells: Iterable[str | None]) -> tuple[str, ...]:
    """Words that occur in several cells, in alphabetical order."""
    n_cells = Counter(word for cell in cells for word in set(_split(cell)))
    ranked = sorted(n_cells.items(), key=lambda item: (-item[1], item[0]))
    return tuple(sorted(word for word, count in ranked[:MAX_WORDS] if count >= MIN_CELLS))


def count_words(cells: Sequence[str | None], words: Sequence[str]) -> sp.csr_array:
    """Counts (n_cells x n_words) of the words in each cell; empty cells have none."""
    position = {word: j for j, word in enumerate(words)}
    values: list[int] = []
    indices: list[int] = []
    indptr = [0]
    for cell in cells:
        counts = Counter(position[word] for word in _split(cell) if word in position)
        indices += sorted(counts)
        values += [counts[j] for j in sorted(counts)]
        indptr.append(len(indices))
    parts = np.array(values, dtype=np.float64), np.array(indices, np.int32), np.array(indptr)
    return sp.csr_array(parts, shape=(len(cells), len(words)))


def _split(cell: str | None) -> list[str]:
    return [] if cell is None else WORD.findall(cell.casefold())


def name_text_views(
    texts: Sequence[tuple[str, str]], views: Collection[str]
) -> dict[tuple[str, str], str]:
    """Names of the views that columns of text become, by view and column.

    ``views`` are the views that have other columns. One without any keeps its name; otherwise the
    name is that of the column, with that of its view if another one has it.
    """
    names: dict[tuple[str, str], str] = {}
    taken = set(views)
    for view, column in texts:
        is_all = view not in views and sum(other == view for other, _ in texts) == 1
        name = view if is_all else column
        if not is_all and (name in taken or name in names.values()):
            name = f"{view}.{column}"
        names[view, column] = name
    return names
