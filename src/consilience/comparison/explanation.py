"""What a model says about single samples: from each view alone, and from all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from consilience.benchmark.protocol import with_presence
from consilience.comparison.prediction import NewSamples
from consilience.tables import TableModel
from consilience.views import MultiViewData

__all__ = ["SampleExplanation", "explain_samples"]


@dataclass(frozen=True)
class ViewStatement:
    """What a model says if it has only this view, and if it has all the others."""

    view: str
    is_present: bool
    alone: str = ""
    alone_probability: float = np.nan  # of the class that is predicted from this view
    without: str = ""
    without_probability: float = np.nan  # of the class that is predicted from the others


@dataclass(frozen=True)
class SampleExplanation:
    """The prediction for a sample, and what each of its views contributes."""

    sample: str
    predicted: str
    probability: float
    true: str | None
    views: list[ViewStatement]

    def lines(self) -> list[str]:
        """Describe it in lines of at most 80 characters, for names that are not too long."""
        label = "" if self.true is None else f" (label: {self.true})"
        sure = "" if np.isnan(self.probability) else f", p = {self.probability:.2f}"
        lines = [f"{self.sample}: {self.predicted}{sure}{label}"]
        width = max(len(view.view) for view in self.views)
        for view in self.views:
            if not view.is_present:
                lines.append(f"  {view.view:{width}}  missing")
                continue
            alone = f"alone {view.alone}{_format(view.alone_probability)}"
            without = f"without it {view.without}{_format(view.without_probability)}"
            lines.append(f"  {view.view:{width}}  {alone}; {without}")
        return lines


def _format(probability: float) -> str:
    return "" if np.isnan(probability) else f" ({probability:.2f})"


def explain_samples(
    model: TableModel, samples: NewSamples, rows: Sequence[int]
) -> list[SampleExplanation]:
    """Explain the predictions for some rows; each probability is that of the class beside it."""
    data = samples.data[np.asarray(rows)]
    empty = [samples.ids[rows[i]] for i in np.flatnonzero(~data.present.any(axis=1)).tolist()]
    if empty:
        raise ValueError(f"sample {empty[0]!r} has no view at all, so there is nothing to explain")
    names = data.view_names
    predicted, probabilities = _predict(model, data.present, data)
    position = {label: k for k, label in enumerate(model.classes_.tolist())}

    def of_class(labels: np.ndarray, values: np.ndarray | None) -> np.ndarray:
        columns = [position.get(label, 0) for label in labels.tolist()]  # none without a view
        return np.full(len(rows), np.nan) if values is None else values[range(len(rows)), columns]

    statements: list[list[ViewStatement]] = [[] for _ in rows]
    for v, name in enumerate(names):
        alone, without = np.zeros_like(data.present), data.present.copy()
        alone[:, v], without[:, v] = data.present[:, v], False
        first, p_first = _predict(model, alone, data)
        second, p_second = _predict(model, without, data)
        shares = of_class(first, p_first), of_class(second, p_second)
        for i, is_present in enumerate(data.present[:, v]):
            statements[i].append(
                ViewStatement(
                    name,
                    bool(is_present),
                    str(first[i]),
                    float(shares[0][i]),
                    str(second[i]) if without[i].any() else "nothing known",
                    float(shares[1][i]) if without[i].any() else np.nan,
                )
            )
    best = of_class(predicted, probabilities)
    return [
        SampleExplanation(
            samples.ids[row],
            str(predicted[i]),
            float(best[i]),
            None if samples.labels is None else samples.labels[row],
            statements[i],
        )
        for i, row in enumerate(rows)
    ]


def _predict(
    model: TableModel, present: np.ndarray, data: MultiViewData
) -> tuple[np.ndarray, np.ndarray | None]:
    """Labels and probabilities where only some views are present; nothing for rows without any."""
    rows = np.flatnonzero(present.any(axis=1))
    labels = np.full(len(data), "", dtype=object)
    probabilities = None
    if model.has_probabilities:
        probabilities = np.full((len(data), len(model.classes_)), np.nan)
    if len(rows):
        seen = with_presence(data, present)[rows]
        labels[rows] = model.predict(seen)
        if probabilities is not None:
            probabilities[rows] = model.predict_proba(seen)
    return labels, probabilities
