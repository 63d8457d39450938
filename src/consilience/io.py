"""Model files: ``save(model, path)`` and ``load(path)``, without pickle.

A file is an archive of skops (JSON and arrays) with a list of digests. It is loaded only if every
type in it is on the list below; the list is fixed, and nothing that a file says can add to it.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import warnings
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

__all__ = ["ModelFileError", "load", "save"]

MANIFEST = "consilience.json"
FORMAT = 1
PACKAGES = ("consilience", "scikit-learn", "numpy", "scipy")
MAX_BYTES = 8 * 2**30  # unpacked; a small file can claim to hold anything

# types of fitted models beside those that skops trusts by itself: public estimators of
# scikit-learn, NumPy's and SciPy's arrays, and plain values
OURS = (
    "_binned_tree.BinnedTreeClassifier",
    "_core.binned.Tree",
    "_default._reference_set.ReferenceSet",
    "_default._reference_set.ReferenceView",
    "_default._classifier.ConsilienceClassifier",
    "_default._columns.Columns",
    "_default._components.Components",
    "_default._forest.Forest",
    "_default._kernel.KernelMember",
    "_default._trees.TreeMember",
    "_estimators.LabelEncodedClassifier",
    "_estimators.ConstantClassifier",
    "_kernel_views.FeatureKernel",
    "_kernel_views.PairwiseKernel",
    "_solvers.kernels.KernelAgainst",
    "benchmark.recipes._as_dense",
    "boosting._iboost.IBoostClassifier",
    "boosting._mumbo.MuMBoClassifier",
    "boosting._mvwab.MVWABClassifier",
    "boosting._rounds.Member",
    "boosting._rounds.Round",
    "boosting._rshareboost.RShareBoostClassifier",
    "boosting._shareboost.ShareBoostClassifier",
    "fusion._best_view.BestViewClassifier",
    "fusion._early.EarlyFusionClassifier",
    "fusion._late.LateFusionClassifier",
    "fusion._members.ViewMember",
    "fusion._stacking.StackingFusionClassifier",
    "kernel._laplacian.LaplacianCompletion",
    "kernel._mkl.MKLClassifier",
    "kernel._mvml.MVMLClassifier",
    "kernel._nystroem.NystroemMap",
    "kernel._training_kernels.ViewMachine",
    "landmark._imputation.Imputer",
    "landmark._mvlsvm.MVLSVMClassifier",
    "landmark._projection.Projection",
    "landmark._projector.LandmarkProjector",
    "margin._amvmed.AMVMEDClassifier",
    "margin._base.BinarySolution",
    "margin._machine.KernelExpansion",
    "margin._machine.LinearExpansion",
    "margin._machine.Machine",
    "margin._mvmed.MVMEDClassifier",
    "margin._smvmed.SMVMEDClassifier",
    "margin._smvmed_cv.SMVMEDClassifierCV",
    "margin._svm2k.SVM2KClassifier",
    "tables._encode.TableEncoder",
    "tables._model.TableModel",
    "tables._model.TableView",
    "views._layout.ViewLayout",
    "views._maps.ViewMap",
    "views._maps.ViewMapper",
    "views._normal_scores.NormalScores",
    "views._pairwise.Reference",
    "views._transform.ViewTransformer",
    "vote._mwmvc2.MwMvC2Classifier",
    "vote._two_level.TwoLevelWeights",
    "vote._voters.CutVoters",
    "vote._voters.EstimatorVoters",
    "vote._voters.TreeVoters",
)
THEIRS = (
    "numpy.dtype",
    "scipy.sparse._csr.csr_array",
    "scipy.sparse._csr.csr_matrix",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.tree._tree.Tree",
)
ALLOWED = (*(f"consilience.{name}" for name in OURS), *THEIRS)


class ModelFileError(ValueError):
    """A file that is no model of ours, or was changed; the message says what is wrong."""


def save(model: Any, path: str | os.PathLike) -> None:
    """Write a fitted model to a file.

    Parameters
    ----------
    model : estimator
        Any classifier of this package or of scikit-learn, or a Pipeline of them.
    path : str or path
        The file, usually ``*.skops``. It is written as a whole or not at all.

    Examples
    --------
    >>> import tempfile
    >>> from consilience.datasets import load_digits_views
    >>> from consilience.fusion import LateFusionClassifier
    >>> from consilience.io import load, save
    >>> data, y = load_digits_views(return_X_y=True)
    >>> model = LateFusionClassifier().fit(data[:300], y[:300])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, f"{folder}/model.skops")
    ...     again = load(f"{folder}/model.skops")
    >>> bool((again.predict(data) == model.predict(data)).all())
    True
    """
    skops = _skops()
    try:
        content = skops.dumps(model, compression=ZIP_DEFLATED, compresslevel=6)
    except Exception as error:
        raise TypeError(f"{type(model).__name__} cannot be saved: {error}") from error
    foreign = set(skops.get_untrusted_types(data=content)) - set(ALLOWED)
    if foreign:
        raise TypeError(
            f"{type(model).__name__} cannot be saved: a file may hold types of consilience, "
            f"scikit-learn, NumPy and SciPy only, and this model has {', '.join(sorted(foreign))}"
        )
    path = Path(path)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(beside, "wb") as file:
            file.write(_with_manifest(content))
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def load(path: str | os.PathLike) -> Any:
    """Read a model that ``save`` wrote; any other file is refused.

    Nothing in a file is ever executed: it holds names of types and their values, and a type that
    is not on the fixed list of this package is an error.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    estimator
    """
    path = Path(path)
    content = path.read_bytes()
    try:
        _check_manifest(content)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of values that a changed file may hold
            return _skops().loads(content, trusted=list(ALLOWED))
    except ModelFileError as error:
        raise ModelFileError(f"{path} is refused: {error}") from None
    except ImportError:
        raise
    except Exception as error:
        message = f"{type(error).__name__}: {error}".splitlines()[0]
        reason = f"it is no model file of consilience ({message})"
        raise ModelFileError(f"{path} is refused: {reason}") from None


def _skops() -> Any:
    try:
        import skops.io
    except ImportError:
        raise ImportError("model files need skops; pip install 'consilience[io]'") from None
    return skops.io


def _with_manifest(content: bytes) -> bytes:
    buffer = io.BytesIO(content)
    with ZipFile(buffer, "a", compression=ZIP_DEFLATED) as archive:
        manifest = {"format": FORMAT, "packages": _versions(), "sha256": _digests(archive)}
        archive.writestr(MANIFEST, json.dumps(manifest, indent=1))
    return buffer.getvalue()


def _digests(archive: ZipFile) -> dict[str, str]:
    names = [name for name in archive.namelist() if name != MANIFEST]
    return {name: hashlib.sha256(archive.read(name)).hexdigest() for name in names}


def _versions() -> dict[str, str]:
    result = {}
    for name in PACKAGES:
        try:
            result[name] = version(name)
        except PackageNotFoundError:
            result[name] = "unknown"
    return result


def _check_manifest(content: bytes) -> None:
    """The archive is whole and as it was written."""
    with ZipFile(io.BytesIO(content)) as archive:
        names = archive.namelist()
        if MANIFEST not in names:
            raise ModelFileError("it was not written by consilience")
        size = sum(entry.file_size for entry in archive.infolist())
        if size > MAX_BYTES:
            raise ModelFileError(f"it claims to hold {size / 2**30:.0f} GB")
        manifest = json.loads(archive.read(MANIFEST))
        if manifest.get("format") != FORMAT:
            raise ModelFileError(f"its format is {manifest.get('format')!r}, this one is {FORMAT}")
        digests = manifest["sha256"]
        if len(set(names)) != len(names) or {*names} != {MANIFEST, *digests}:
            raise ModelFileError("parts of it were added or taken away")
        changed = [name for name, digest in _digests(archive).items() if digests[name] != digest]
    if changed:
        raise ModelFileError(f"it was changed after it was written ({', '.join(changed)})")
    _warn_of_versions(manifest["packages"])


def _warn_of_versions(written: dict[str, str]) -> None:
    here = _versions()
    other = [
        f"{name} {old} (here {here[name]})"
        for name, old in written.items()
        if name in here and old.split(".")[:2] != here[name].split(".")[:2]
    ]
    if other:
        warnings.warn(
            f"the model was saved with {', '.join(other)}; its answers may differ",
            UserWarning,
            stacklevel=4,
        )
