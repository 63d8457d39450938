"""Model files: ``save(model, path)`` and ``load(path)``, without pickle.

A file is a skops archive (JSON and arrays) with a manifest of checksums (``_model_archive``). It
names our types by the public names that they are given where they are defined (``_model_types``),
so that a type may move to another module. A file is loaded only if each of its types has such a
name, is one of scikit-learn, NumPy or SciPy, or is trusted by the caller; nothing in a file can
extend this. Its size is checked before anything is created (``_model_bounds``), and every value
that compiled code relies on before the model is returned (``_model_checks``).
"""

from __future__ import annotations

import json
import os
import pkgutil
import warnings
from collections.abc import Callable, Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np

from consilience._atomic_write import write_atomically
from consilience._model_archive import (
    add_manifest,
    check_key,
    open_archive,
    override_schema,
    read_manifest,
    read_schema,
    replace_schema,
)
from consilience._model_bounds import check_loaders, check_members, schema_nodes
from consilience._model_checks import check_model, failed_trials, passed_trials
from consilience._model_schema import (
    can_be_trusted,
    check_trusted,
    to_import_paths,
    to_public_names,
    untrusted_types,
)

__all__ = ["ModelFileError", "load", "save"]

PACKAGES = ("consilience", "scikit-learn", "numpy", "scipy")

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


def save(
    model: Any,
    path: str | os.PathLike,
    *,
    trusted: Iterable[str] = (),
    key: bytes | None = None,
) -> None:
    """Write a fitted model to a file.

    Parameters
    ----------
    model : estimator
        Any classifier of this package, most of scikit-learn, or a Pipeline of them.
    path : str or path
        The file, usually ``*.skops``. It is written completely or not at all, and replaces only a
        regular file (or the one that a symbolic link points at), never a device or pipe.
    trusted : iterable of str, default=()
        Names of other modules or types whose types the file may contain. ``load``, which describes
        them, needs the same names.
    key : bytes, optional
        At least 16 secret bytes, such as ``secrets.token_bytes(32)``, with which the file is signed
        (HMAC-SHA-256). ``load`` with the same key accepts only files that were signed with it.

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
    check_key(key)
    skops = _import_skops()
    try:
        content = skops.dumps(model)  # compressed below, with the names of types replaced
        with open_archive(content) as archive:
            schema = read_schema(archive)
        own_types = to_public_names(schema_nodes(schema))
        foreign_types = _foreign_types(content, own_types)
    except Exception as error:
        raise TypeError(f"{type(model).__name__} cannot be saved: {error}") from error
    untrusted = untrusted_types(foreign_types, trusted)
    if untrusted:
        reason = _explain_untrusted(untrusted, "save(model, path, trusted={})")
        raise TypeError(f"{type(model).__name__} cannot be saved: it {reason}")
    _check_importable(foreign_types)
    try:
        check_model(model, foreign_types)
    except ValueError as error:
        raise TypeError(f"{type(model).__name__} cannot be saved: {error}") from None
    manifest = {
        "packages": _package_versions(),
        "foreign_types": foreign_types,
        "trials": _quietly(passed_trials, model),
    }
    write_atomically(path, add_manifest(replace_schema(content, schema), manifest, key))


def load(path: str | os.PathLike, *, trusted: Iterable[str] = (), key: bytes | None = None) -> Any:
    """Read a model that was written by ``save``; any other file is rejected.

    Nothing in a file is ever executed: it contains names of types and their values, and a type
    must be one of this package, scikit-learn, NumPy or SciPy, or be trusted explicitly. All values
    that compiled code relies on are checked before the model is returned, so that no file can crash
    the process or let it hang; and a few rows are predicted. Yet whoever writes a file decides what
    its model predicts: to know who that was, sign files with a key.

    Parameters
    ----------
    path : str or path
        The file.
    trusted : iterable of str, default=()
        Types of other packages that the file may contain: full names of types or functions, such
        as ``"mypackage.Scaler"``, or names of modules, such as ``"mypackage"``, for all classes
        that are defined in the module or its submodules. Only trusted modules are imported. A file
        can create objects of trusted types with any arguments and call trusted functions.
    key : bytes, optional
        Accept only a file that was saved with this key and has not been modified since. Without
        it, a signature is not verified.

    Returns
    -------
    estimator

    Examples
    --------
    >>> from consilience.io import load
    >>> model = load("study/model.skops")  # doctest: +SKIP
    """
    trusted = check_trusted(trusted)
    check_key(key)
    path = Path(path)
    content = path.read_bytes()
    _import_skops()  # its absence is not an error of the file
    try:
        return _load_model(content, trusted, key)
    except ModelFileError as error:
        raise ModelFileError(f"{path} cannot be loaded: {error}") from None
    except ImportError as error:
        raise ImportError(f"{path} cannot be loaded: {error}") from error
    except Exception as error:
        message = f"{type(error).__name__}: {error}".splitlines()[0]
        reason = f"it is not a model file of consilience ({message})"
        raise ModelFileError(f"{path} cannot be loaded: {reason}") from None


def _quietly(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function without the warnings about odd values of a modified file, and our own."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return function(*arguments)


def _load_model(content: bytes, trusted: tuple[str, ...], key: bytes | None) -> Any:
    with open_archive(content) as archive:
        manifest = _check_file(read_manifest, archive, len(content), key)
        _warn_about_versions(manifest["packages"])
        schema = read_schema(archive)
        nodes = _check_file(_check_schema, schema, archive)
    try:
        own_types = to_import_paths(nodes)
    except LookupError as error:
        raise ModelFileError(str(error)) from None
    content = _quietly(override_schema, content, schema)
    model, foreign_types = _quietly(_create_model, content, own_types, trusted)
    _check_file(check_model, model, foreign_types)
    trials = manifest.get("trials", [])
    reason = _quietly(failed_trials, model, trials if isinstance(trials, list) else [])
    if reason:
        raise ModelFileError(f"it is not a valid model: {reason}")
    return model


def _check_file(check: Callable[..., Any], *arguments: Any) -> Any:
    """Call a check whose ValueError says what is wrong with a file."""
    try:
        return check(*arguments)
    except json.JSONDecodeError:
        raise
    except ValueError as error:
        raise ModelFileError(str(error)) from None


def _check_schema(schema: Any, archive: ZipFile) -> list[dict[str, Any]]:
    """Check what skops will do before it does it; return the objects of the schema."""
    nodes = schema_nodes(schema)
    check_members(nodes, set(archive.namelist()))
    check_loaders(nodes, archive)
    return nodes


def _create_model(
    content: bytes, own_types: set[str], trusted: tuple[str, ...]
) -> tuple[Any, list[str]]:
    """The object in a file, and its types of other packages."""
    skops = _import_skops()
    known_types = [*own_types, *EXTERNAL_TYPES]
    try:
        return skops.loads(content, trusted=known_types), []
    except skops.exceptions.UntrustedTypesFoundException:  # before any object is created
        foreign_types = _foreign_types(content, own_types)
    untrusted = untrusted_types(foreign_types, trusted)
    if untrusted:
        raise ModelFileError(f"it {_explain_untrusted(untrusted, 'load(path, trusted={})')}")
    return skops.loads(content, trusted=[*known_types, *foreign_types]), foreign_types


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


def _package_versions() -> dict[str, str]:
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = "unknown"
    return versions


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
