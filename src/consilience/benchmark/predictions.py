"""Out-of-sample predictions of one task, packed for the store without pickle."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Predictions"]


@dataclass(frozen=True)
class Predictions:
    """Test rows with their true and predicted classes (codes into ``classes``) and scores.

    ``kind`` says what the scores are: "probability", "decision" or "none". A true class that the
    training rows did not have is coded −1.
    """

    rows: np.ndarray
    y_true: np.ndarray
    y_pred: np.ndarray
    classes: np.ndarray
    scores: np.ndarray
    kind: str

    @classmethod
    def from_labels(
        cls, rows: Any, y_true: Any, y_pred: Any, scores: Any, kind: str, classes: np.ndarray
    ) -> Predictions:
        """From labels to codes."""

        def codes(labels: np.ndarray) -> np.ndarray:
            codes_ = np.searchsorted(classes, labels).clip(max=len(classes) - 1)
            return np.where(classes[codes_] == labels, codes_, -1).astype(np.int32)

        none = np.empty(0)
        return cls(
            rows, codes(y_true), codes(y_pred), classes, none if scores is None else scores, kind
        )

    def to_bytes(self) -> bytes:
        """A compressed archive of arrays."""
        classes = self.classes.astype(str) if self.classes.dtype == object else self.classes
        buffer = io.BytesIO()
        np.savez_compressed(
            buffer,
            rows=self.rows,
            y_true=self.y_true,
            y_pred=self.y_pred,
            classes=classes,
            scores=self.scores,
            kind=np.array(self.kind),
        )
        return buffer.getvalue()

    @classmethod
    def from_bytes(cls, packed: bytes) -> Predictions:
        """What ``to_bytes`` packed."""
        with np.load(io.BytesIO(packed), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        return cls(**{**arrays, "kind": str(arrays["kind"])})
