"""Names that were replaced by words a reader of scikit-learn knows do not come back."""

import io
import re
import tokenize
from pathlib import Path

import pytest

import consilience

ROOT = Path(consilience.__file__).parent

# replaced name -> what it is called now
REPLACED = {
    "_open": "_validate_input",
    "_read": "_validate_for_predict",
    "_with_prior": "_predict_or_prior",
    "shown": "format_list",
    "shown_p": "format_p_value",
    "found": "solution, result",
    "there": "is_present, mask",
    "said": "y_pred, message",
    "truth": "y_true",
    "as_storage": "validate_view",
    "Bank": "ReferenceSet",
    "BankView": "ReferenceView",
    "strengths": "view_weights",
    "to_filled": "impute_distances",
    "typical_distance": "distance_scale",
    "weigh_guesses": "pseudo_label_weights",
    "equal_confidence": "match_confidence",
    "_clock": "make_deadline",
    "fit_pool": "fit_stacking_weights",
    "KernelTo": "KernelAgainst",
    "Blocks": "CentredViews",
    "RowBlocks": "InMemoryRows",
    "BlockRows": "StreamedRows",
    "Exact": "CholeskyStep",
    "Conjugate": "CGStep",
    "_curved": "_nonlinear_views",
    "_publish": "_set_fitted_attributes",
    "margin_shares": "view_contributions",
    "Judge": "EarlyStopping",
    "_Watch": "EarlyStopping",
    "silent": "unseen_views",
    "CodedClassifier": "LabelEncodedClassifier",
    "described": "with_estimator_spec",
    "Compared": "ComparisonInput",
    "Assembled": "JoinedTables",
    "own_scaling_off": "disable_scaling",
    "reason_against": "incompatibility",
    **dict.fromkeys(
        ["ROWS", "MOST", "LEAST", "FEW", "LEAN", "APART", "USUAL"],
        "a noun with its unit, such as PREDICT_CHUNK_ROWS",
    ),
}
REFUSE = re.compile(r"_?refuse")


def replaced_names(source):
    """(line, name, better) of every replaced name in Python source."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.NAME:
            continue
        if token.string in REPLACED:
            yield token.start[0], token.string, REPLACED[token.string]
        elif REFUSE.match(token.string):
            yield token.start[0], token.string, "check_..."


def test_replaced_names_are_recognised():
    source = "found = 1  # said\nrefuse_text('truth')\nx._open()\nresult = 'there'\n"
    assert [name for _, name, _ in replaced_names(source)] == ["found", "refuse_text", "_open"]


@pytest.mark.parametrize("package", sorted(p.name for p in ROOT.iterdir() if p.name[:2] != "__"))
def test_no_replaced_name_is_used(package):
    folder = ROOT / package
    paths = sorted(folder.rglob("*.py")) if folder.is_dir() else [folder]
    uses = [
        f"{path.relative_to(ROOT)}:{line}: {name} is now {better}"
        for path in paths
        if path.suffix == ".py"
        for line, name, better in replaced_names(path.read_text(encoding="utf-8"))
    ]
    assert uses == []
