"""Model files: ``save(model, path)`` and ``load(path)``, without pickle.

A file is a skops archive (JSON and arrays) with a manifest of checksums. It is loaded only if every
type in it is on the fixed list below; nothing in a file can extend that list.
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
FORMAT_VERSION = 1
PACKAGES = ("consilience", "scikit-learn", "numpy", "scipy")
MAX_UNPACKED_BYTES = 8 * 2**30  # a small file may unpack to an arbitrary size

# types in fitted models in addition to those that skops trusts by default, which are public
# estimators of scikit-learn, arrays of NumPy and SciPy, and plain values
CONSILIENCE_TYPES = (
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
    "tables._model.TableModel",
    "tables._model.TableView",
    "views._encode.TableCodes",
    "views._layout.ViewLayout",
    "views._maps.ViewMap",
    "views._maps.ViewMapper",
    "views._normal_scores.NormalScores",
    "views._pairwise.Reference",
    "views._preparation.ColumnPreparer",
    "views._preparation.ViewPreparer",
    "views._transform.ViewTransformer",
    "vote._mwmvc2.MwMvC2Classifier",
    "vote._two_level.TwoLevelWeights",
    "vote._voters.CutVoters",
    "vote._voters.EstimatorVoters",
    "vote._voters.TreeVoters",
)
EXTERNAL_TYPES = (
    "numpy.dtype",
    "scipy.sparse._csr.csr_array",
    "scipy.sparse._csr.csr_matrix",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.tree._tree.Tree",
)
TRUSTED_TYPES = (*(f"consilience.{name}" for name in CONSILIENCE_TYPES), *EXTERNAL_TYPES)


class ModelFileError(ValueError):
    """A file is not a model of consilience, or was modified; the message says what is wrong."""


def save(model: Any, path: str | os.PathLike) -> None:
    """Write a fitted model to a file.

    Parameters
    ----------
    model : estimator
        Any classifier of this package or of scikit-learn, or a Pipeline of them.
    path : str or path
        The file, usually ``*.skops``. It is written completely or not at all.

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
    ...     loaded = load(f"{folder}/model.skops")
    >>> bool((loaded.predict(data) == model.predict(data)).all())
    True
    """
    skops = _import_skops()
    try:
        content = skops.dumps(model, compression=ZIP_DEFLATED, compresslevel=6)
    except Exception as error:
        raise TypeError(f"{type(model).__name__} cannot be saved: {error}") from error
    untrusted = set(skops.get_untrusted_types(data=content)) - set(TRUSTED_TYPES)
    if untrusted:
        raise TypeError(
            f"{type(model).__name__} cannot be saved: a file may contain only types of "
            "consilience, scikit-learn, NumPy and SciPy, but this model has "
            f"{', '.join(sorted(untrusted))}"
        )
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(temporary, "wb") as file:
            file.write(_add_manifest(content))
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def load(path: str | os.PathLike) -> Any:
    """Read a model that was written by ``save``; any other file is rejected.

    Nothing in a file is ever executed: it contains names of types and their values, and a type
    that is not on the fixed list of this package is an error.

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
            warnings.simplefilter("ignore")  # about odd values in a modified file
            return _import_skops().loads(content, trusted=list(TRUSTED_TYPES))
    except ModelFileError as error:
        raise ModelFileError(f"{path} cannot be loaded: {error}") from None
    except ImportError:
        raise
    except Exception as error:
        message = f"{type(error).__name__}: {error}".splitlines()[0]
        reason = f"it is not a model file of consilience ({message})"
        raise ModelFileError(f"{path} cannot be loaded: {reason}") from None


def _import_skops() -> Any:
    try:
        import skops.io
    except ImportError:
        raise ImportError("model files need skops; pip install 'consilience[io]'") from None
    return skops.io


def _add_manifest(content: bytes) -> bytes:
    buffer = io.BytesIO(content)
    with ZipFile(buffer, "a", compression=ZIP_DEFLATED) as archive:
        manifest = {
            "format": FORMAT_VERSION,
            "packages": _package_versions(),
            "sha256": _checksums(archive),
        }
        archive.writestr(MANIFEST, json.dumps(manifest, indent=1))
    return buffer.getvalue()


def _checksums(archive: ZipFile) -> dict[str, str]:
    names = [name for name in archive.namelist() if name != MANIFEST]
    return {name: hashlib.sha256(archive.read(name)).hexdigest() for name in names}


def _package_versions() -> dict[str, str]:
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = "unknown"
    return versions


def _check_manifest(content: bytes) -> None:
    """Check that the archive is complete and unmodified."""
    with ZipFile(io.BytesIO(content)) as archive:
        names = archive.namelist()
        if MANIFEST not in names:
            raise ModelFileError("it was not written by consilience")
        size = sum(entry.file_size for entry in archive.infolist())
        if size > MAX_UNPACKED_BYTES:
            raise ModelFileError(f"it would unpack to {size / 2**30:.0f} GB")
        manifest = json.loads(archive.read(MANIFEST))
        if manifest.get("format") != FORMAT_VERSION:
            raise ModelFileError(
                f"its format version is {manifest.get('format')!r}, expected {FORMAT_VERSION}"
            )
        expected = manifest["sha256"]
        if len(set(names)) != len(names) or {*names} != {MANIFEST, *expected}:
            raise ModelFileError("parts of it were added or removed")
        modified = [
            name for name, sha256 in _checksums(archive).items() if expected[name] != sha256
        ]
    if modified:
        raise ModelFileError(f"it was modified after it was written ({', '.join(modified)})")
    _warn_about_versions(manifest["packages"])


def _warn_about_versions(saved: dict[str, str]) -> None:
    installed = _package_versions()
    different = [
        f"{name} {old} (installed: {installed[name]})"
        for name, old in saved.items()
        if name in installed and old.split(".")[:2] != installed[name].split(".")[:2]
    ]
    if different:
        warnings.warn(
            f"the model was saved with {', '.join(different)}; its predictions may differ",
            UserWarning,
            stacklevel=4,
        )
