"""Model files: ``save(model, path)`` and ``load(path)``, without pickle.

A file is a skops archive (JSON and arrays) with a manifest of checksums. It names our types by the
public names that they are given where they are defined (``_model_types``), so that a type may move
to another module. A file is loaded only if each of its types has such a name, is one of
scikit-learn, NumPy or SciPy, or is trusted by the caller; nothing in a file can extend this.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import pkgutil
import warnings
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from consilience._atomic_write import write_atomically
from consilience._model_schema import (
    can_be_trusted,
    check_trusted,
    to_import_paths,
    to_public_names,
    untrusted_types,
)

__all__ = ["ModelFileError", "load", "save"]

MANIFEST = "consilience.json"
SCHEMA = "schema.json"
FORMAT_VERSION = 2
PACKAGES = ("consilience", "scikit-learn", "numpy", "scipy")
MAX_UNPACKED_BYTES = 8 * 2**30  # a small file may unpack to an arbitrary size

# types in fitted models in addition to ours and to those that skops trusts by default, which are
# public estimators of scikit-learn, arrays of NumPy and SciPy, and plain values
EXTERNAL_TYPES = (
    "numpy.dtype",
    "scipy.sparse._csr.csr_array",
    "scipy.sparse._csr.csr_matrix",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.tree._tree.Tree",
)


class ModelFileError(ValueError):
    """A file is not a model of consilience, or was modified; the message says what is wrong."""


def save(model: Any, path: str | os.PathLike, *, trusted: Iterable[str] = ()) -> None:
    """Write a fitted model to a file.

    Parameters
    ----------
    model : estimator
        Any classifier of this package or of scikit-learn, or a Pipeline of them.
    path : str or path
        The file, usually ``*.skops``. It is written completely or not at all.
    trusted : iterable of str, default=()
        Names of other modules or types whose types the file may contain. ``load``, which describes
        them, needs the same names.

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
    trusted = check_trusted(trusted)
    skops = _import_skops()
    try:
        content = skops.dumps(model)  # compressed below, with the names of types replaced
        schema = _read_schema(content)
        own_types = to_public_names(schema)
        foreign_types = _foreign_types(content, own_types)
    except Exception as error:
        raise TypeError(f"{type(model).__name__} cannot be saved: {error}") from error
    untrusted = untrusted_types(foreign_types, trusted)
    if untrusted:
        reason = _explain_untrusted(untrusted, "save(model, path, trusted={})")
        raise TypeError(f"{type(model).__name__} cannot be saved: it {reason}")
    _check_importable(foreign_types)
    content = _replace_schema(content, schema)
    write_atomically(path, _add_manifest(content, foreign_types))


def load(path: str | os.PathLike, *, trusted: Iterable[str] = ()) -> Any:
    """Read a model that was written by ``save``; any other file is rejected.

    Nothing in a file is ever executed: it contains names of types and their values, and a type
    must be one of this package, scikit-learn, NumPy or SciPy, or be trusted explicitly.

    Parameters
    ----------
    path : str or path
        The file.
    trusted : iterable of str, default=()
        Types of other packages that the file may contain: full names of types or functions, such
        as ``"mypackage.Scaler"``, or names of modules, such as ``"mypackage"``, for all classes
        that are defined in the module or its submodules. Only trusted modules are imported. A file
        can create objects of trusted types with any arguments and call trusted functions.

    Returns
    -------
    estimator
    """
    trusted = check_trusted(trusted)
    path = Path(path)
    content = path.read_bytes()
    _import_skops()  # its absence is not an error of the file
    try:
        _check_manifest(content)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of odd values in a modified file, and our own
            return _load_model(content, trusted)
    except ModelFileError as error:
        raise ModelFileError(f"{path} cannot be loaded: {error}") from None
    except ImportError as error:
        raise ImportError(f"{path} cannot be loaded: {error}") from error
    except Exception as error:
        message = f"{type(error).__name__}: {error}".splitlines()[0]
        reason = f"it is not a model file of consilience ({message})"
        raise ModelFileError(f"{path} cannot be loaded: {reason}") from None


def _load_model(content: bytes, trusted: tuple[str, ...]) -> Any:
    schema = _read_schema(content)
    try:
        own_types = to_import_paths(schema)
    except LookupError as error:
        raise ModelFileError(str(error)) from None
    content = _override_schema(content, schema)
    skops = _import_skops()
    known_types = [*own_types, *EXTERNAL_TYPES]
    try:
        return skops.loads(content, trusted=known_types)
    except skops.exceptions.UntrustedTypesFoundException:  # before any object is created
        foreign_types = _foreign_types(content, own_types)
    untrusted = untrusted_types(foreign_types, trusted)
    if untrusted:
        raise ModelFileError(f"it {_explain_untrusted(untrusted, 'load(path, trusted={})')}")
    return skops.loads(content, trusted=[*known_types, *foreign_types])


def _import_skops() -> Any:
    try:
        import skops.io.exceptions
    except ImportError:
        raise ImportError("model files need skops; pip install 'consilience[io]'") from None
    return skops.io


def _foreign_types(content: bytes, own_types: set[str]) -> list[str]:
    """Types of other packages than ours and those that every file may contain."""
    types = set(_import_skops().get_untrusted_types(data=content))
    return sorted(types - own_types - set(EXTERNAL_TYPES))


def _explain_untrusted(types: list[str], call: str) -> str:
    """What is wrong with untrusted types, and how to trust those that can be trusted."""
    reason = (
        "contains types other than those of consilience, scikit-learn, NumPy and SciPy that model "
        f"files support: {', '.join(types)}"
    )
    if all(can_be_trusted(name) for name in types):
        reason += f"; if you trust them, use {call.format(types)}"
    return reason


def _check_importable(types: list[str]) -> None:
    """Check that types of other packages can be imported again, unlike local classes."""
    for name in types:
        try:
            pkgutil.resolve_name(name)
        except (ImportError, AttributeError) as error:
            raise TypeError(f"{name} cannot be saved because it cannot be imported") from error


def _read_schema(content: bytes) -> Any:
    with ZipFile(io.BytesIO(content)) as archive:
        return json.loads(archive.read(SCHEMA))


def _replace_schema(content: bytes, schema: Any) -> bytes:
    """The archive with another schema, compressed."""
    buffer = io.BytesIO()
    with (
        ZipFile(io.BytesIO(content)) as source,
        ZipFile(buffer, "w", compression=ZIP_DEFLATED, compresslevel=6) as target,
    ):
        for name in source.namelist():
            if name != SCHEMA:
                target.writestr(name, source.read(name))
        target.writestr(SCHEMA, json.dumps(schema))
    return buffer.getvalue()


def _override_schema(content: bytes, schema: Any) -> bytes:
    """The archive with a second schema, which is the one that is read: the last of a name is.

    Much faster than to write all arrays again. If the first were read instead, nothing would be
    loaded, as its names of types are public ones.
    """
    buffer = io.BytesIO(content)
    with ZipFile(buffer, "a") as archive:
        archive.writestr(SCHEMA, json.dumps(schema))  # warns about the duplicate
    return buffer.getvalue()


def _add_manifest(content: bytes, foreign_types: list[str]) -> bytes:
    buffer = io.BytesIO(content)
    with ZipFile(buffer, "a", compression=ZIP_DEFLATED) as archive:
        manifest = {
            "format": FORMAT_VERSION,
            "packages": _package_versions(),
            "foreign_types": foreign_types,
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
        _check_format(manifest.get("format"))
        expected = manifest["sha256"]
        if len(set(names)) != len(names) or {*names} != {MANIFEST, *expected}:
            raise ModelFileError("parts of it were added or removed")
        modified = [
            name for name, sha256 in _checksums(archive).items() if expected[name] != sha256
        ]
    if modified:
        raise ModelFileError(f"it was modified after it was written ({', '.join(modified)})")
    _warn_about_versions(manifest["packages"])


def _check_format(format_version: Any) -> None:
    if format_version == 1:
        raise ModelFileError(
            "it was written by an earlier development version of consilience (format 1); "
            "save the model again"
        )
    if format_version != FORMAT_VERSION:
        raise ModelFileError(f"its format version is {format_version!r}, expected {FORMAT_VERSION}")


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
