"""Paragraphs to paste into a paper, with the references they cite."""

from __future__ import annotations

import inspect
import re

from sklearn.pipeline import Pipeline

from consilience.comparison.ranking import ranking
from consilience.comparison.record import Run
from consilience.comparison.study import StudyResults
from consilience.methods import METHODS, Method

__all__ = ["method_citation", "methods_paragraph", "references"]

STATISTICS = (
    "C. Nadeau, Y. Bengio (2003), Inference for the generalization error, Machine Learning 52, "
    "239–281.",
    "S. Holm (1979), A simple sequentially rejective multiple test procedure, Scandinavian Journal "
    "of Statistics 6, 65–70.",
    "E. B. Wilson (1927), Probable inference, the law of succession, and statistical inference, "
    "Journal of the American Statistical Association 22, 209–212.",
    "F. Pedregosa et al. (2011), Scikit-learn: machine learning in Python, Journal of Machine "
    "Learning Research 12, 2825–2830.",
)
MARK = re.compile(r"^\.\. \[\d+\]\s*|^\[\d+\]\s*")


def methods_paragraph(run: Run, results: StudyResults) -> str:
    """Describe data, protocol, statistics and result in the past tense."""
    options, data = run.options, run.data
    names = [view.name for view in data.views]
    views = f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
    n_methods = len(results.main.methods)
    parts = [
        f"We compared {n_methods} classification methods on {data.samples} samples of "
        f"{len(data.classes)} classes, described by {len(names)} "
        f"{'views' if len(names) > 1 else 'view'} ({views}), with consilience {run.version}.",
        _describe_protocol(run),
    ]
    if options.tune:
        parts.append(
            "Hyperparameters were chosen by grid search within the training samples of each split, "
            f"by mean {run.metric_title}."
        )
    parts.append(
        f"Methods were ranked by mean {run.metric_title}; 95 % intervals account for training "
        "samples that splits share (Nadeau & Bengio 2003) and for the number of test samples "
        "(Wilson 1927). Differences were tested with the corrected t-test and Holm's adjustment "
        "(Holm 1979), each method also against a classifier that knows the class shares only."
    )
    best = next((row for row in ranking(run, results) if row.rank == 1), None)
    if best is not None and results.best is not None:
        fitted = "" if run.refit_error else ", and was fitted to all samples"
        parts.append(
            f"{best.method} had the best mean, {best.score:.3f} (95 % interval {best.low:.3f} to "
            f"{best.high:.3f}){fitted}."
        )
    return " ".join(parts)


def _describe_protocol(run: Run) -> str:
    options = run.options
    grouped = " Samples of one group were always kept together." if run.keeps_groups else ""
    if options.splitter:
        return f"Methods were evaluated on {options.cv} given splits.{grouped}"
    repeats = f", repeated {options.repeats} times" if options.repeats > 1 else ""
    return (
        f"Methods were evaluated by {options.cv}-fold stratified cross-validation{repeats} (seed "
        f"{options.seed}); all preprocessing was fitted to the training samples of each split."
        f"{grouped}"
    )


def method_citation(method: Method) -> str:
    """First reference in the documentation of a method's class; empty for baselines."""
    if method.reference in ("baseline", "own"):
        return ""
    model = method.build(None)
    model = model.steps[-1][1] if isinstance(model, Pipeline) else model
    lines = inspect.cleandoc(type(model).__doc__ or "").splitlines()
    if "References" not in lines:
        return ""
    start = lines.index("References") + 2
    text: list[str] = []
    for line in lines[start:]:
        is_next = MARK.match(line.strip()) and text
        if is_next or (not line.strip() and text):
            break
        if line.strip():
            text.append(MARK.sub("", line.strip()))
    return " ".join(text)


def references(run: Run, results: StudyResults) -> list[str]:
    """References of the statistics and of the methods in the ranking."""
    cited = [method_citation(METHODS[name]) for name in results.main.methods if name in METHODS]
    return sorted({text for text in cited if text}) + list(STATISTICS)
