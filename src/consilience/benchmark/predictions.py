"""Out-of-sample predictions of one task, serialised without pickle."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Predictions"]


@dataclass(frozen=True)
class Predictions:
    """Test rows with their true and predicted classes (indices into ``classes``) and scores.

    ``kind`` says what the scores are: "probability", "decision" or "none". A true class that does
    not occur in the training rows is encoded as −1.
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
        """Encode labels as indices into ``classes``."""

        def encode(labels: np.ndarray) -> np.ndarray:
            indices = np.searchsorted(classes, labels).clip(max=len(classes) - 1)
            return np.where(classes[indices] == labels, indices, -1).astype(np.int32)

        scores = np.empty(0) if scores is None else scores
        return cls(rows, encode(y_true), encode(y_pred), classes, scores, kind)

    def to_bytes(self) -> bytes:
        """Serialise to a compressed archive of arrays."""
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
        """Read what ``to_bytes`` wrote."""
        with np.load(io.BytesIO(packed), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        return cls(**{**arrays, "kind": str(arrays["kind"])})
