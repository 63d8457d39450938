"""The archive of a model file: members, checksums, signature and limits of size.

The manifest holds the SHA-256 digest of every other member, which shows damage. Anybody can write
digests that fit; a signature (HMAC-SHA-256 of the manifest) can only be written with the key.
"""

from __future__ import annotations

import hashlib
import hmac
import io
import json
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

from consilience._model_bounds import unpacked_bytes

__all__ = [
    "FORMAT_VERSION",
    "MANIFEST",
    "add_manifest",
    "check_key",
    "open_archive",
    "override_schema",
    "read_manifest",
    "read_schema",
    "replace_schema",
]

MANIFEST = "consilience.json"
SCHEMA = "schema.json"
FORMAT_VERSION = 2
MIN_KEY_BYTES = 16
# a small file may unpack to an arbitrary size
MAX_UNPACKED_BYTES = 8 * 2**30
MAX_SMALL_UNPACKED_BYTES = 2**28
MAX_RATIO = 100  # of larger files; deflate reaches 1000
MAX_SMALL_SCHEMA_BYTES = 2**21
MAX_SCHEMA_RATIO = 200
MAX_MANIFEST_BYTES_PER_MEMBER = 1024


def check_key(key: Any) -> None:
    """Check the key of a signature."""
    if key is not None and not isinstance(key, bytes):
        raise TypeError(f"key must be bytes, got {type(key).__name__}")
    if key is not None and len(key) < MIN_KEY_BYTES:
        raise ValueError(f"key must have at least {MIN_KEY_BYTES} bytes, got {len(key)}")


def open_archive(content: bytes) -> ZipFile:
    """The archive in a file, for reading."""
    return ZipFile(io.BytesIO(content))


def read_schema(archive: ZipFile) -> Any:
    """Schema of an archive."""
    return json.loads(archive.read(SCHEMA))


def replace_schema(content: bytes, schema: Any) -> bytes:
    """The archive with another schema, compressed unless it would look like a bomb."""
    compressed = _write_members(content, schema, ZIP_DEFLATED)
    try:
        with open_archive(compressed) as archive:
            _check_size(archive, len(compressed))
    except ValueError:
        return _write_members(content, schema, ZIP_STORED)
    return compressed


def _write_members(content: bytes, schema: Any, compression: int) -> bytes:
    buffer = io.BytesIO()
    with (
        ZipFile(io.BytesIO(content)) as source,
        ZipFile(buffer, "w", compression=compression, compresslevel=6) as target,
    ):
        for name in source.namelist():
            if name != SCHEMA:
                target.writestr(name, source.read(name))
        target.writestr(SCHEMA, json.dumps(schema))
    return buffer.getvalue()


def override_schema(content: bytes, schema: Any) -> bytes:
    """The archive with a second schema, which is the one that is read: the last of a name is.

    Much faster than to write all arrays again. If the first were read instead, nothing would be
    loaded, as its names of types are public ones.
    """
    buffer = io.BytesIO(content)
    with ZipFile(buffer, "a") as archive:
        archive.writestr(SCHEMA, json.dumps(schema))  # warns about the duplicate
    return buffer.getvalue()


def add_manifest(content: bytes, manifest: dict[str, Any], key: bytes | None = None) -> bytes:
    """The archive with a manifest: checksums, and a signature if there is a key."""
    buffer = io.BytesIO(content)
    with ZipFile(buffer, "a", compression=ZIP_DEFLATED) as archive:
        manifest = {"format": FORMAT_VERSION, **manifest, "sha256": _checksums(archive)}
        if key is not None:
            manifest["hmac_sha256"] = _signature(manifest, key)
        archive.writestr(MANIFEST, json.dumps(manifest, indent=1))
    return buffer.getvalue()


def _checksums(archive: ZipFile) -> dict[str, str]:
    names = [name for name in archive.namelist() if name != MANIFEST]
    return {name: hashlib.sha256(archive.read(name)).hexdigest() for name in names}


def _signature(manifest: dict[str, Any], key: bytes) -> str:
    signed = {name: value for name, value in manifest.items() if name != "hmac_sha256"}
    return hmac.new(key, json.dumps(signed, sort_keys=True).encode(), "sha256").hexdigest()


def read_manifest(archive: ZipFile, n_bytes: int, key: bytes | None = None) -> dict[str, Any]:
    """Manifest of an archive that is complete, unmodified and, with a key, signed.

    ValueError otherwise, or if the archive of ``n_bytes`` would unpack to too much.
    """
    names = archive.namelist()
    if MANIFEST not in names:
        raise ValueError("it was not written by consilience")
    _check_size(archive, n_bytes)
    manifest = json.loads(archive.read(MANIFEST))
    _check_format(manifest.get("format"))
    if key is not None:
        _check_signature(manifest, key)
    expected = manifest["sha256"]
    if len(set(names)) != len(names) or {*names} != {MANIFEST, *expected}:
        raise ValueError("parts of it were added or removed")
    modified = [name for name, sha256 in _checksums(archive).items() if expected[name] != sha256]
    if modified:
        raise ValueError(f"it was modified after it was written ({', '.join(modified)})")
    return manifest


def _check_size(archive: ZipFile, n_bytes: int) -> None:
    """Check what an archive of this many bytes would unpack to."""
    sizes = {entry.filename: entry for entry in archive.infolist()}
    limit = min(MAX_UNPACKED_BYTES, max(MAX_SMALL_UNPACKED_BYTES, MAX_RATIO * n_bytes))
    if sum(entry.file_size for entry in archive.infolist()) > limit:
        raise ValueError(f"it would unpack to more than {limit / 2**30:.2g} GB")
    manifest, schema = sizes.get(MANIFEST), sizes.get(SCHEMA)
    max_manifest_bytes = MAX_MANIFEST_BYTES_PER_MEMBER * (len(sizes) + 4)
    if manifest is not None and manifest.file_size > max_manifest_bytes:
        raise ValueError("its manifest is too long")
    if schema is not None and schema.file_size > max(
        MAX_SMALL_SCHEMA_BYTES, MAX_SCHEMA_RATIO * schema.compress_size
    ):
        raise ValueError(f"its schema would unpack to {schema.file_size / 2**20:.0f} MB")
    if unpacked_bytes(archive) > limit:
        raise ValueError(f"it would unpack to more than {limit / 2**30:.2g} GB")


def _check_format(format_version: Any) -> None:
    if format_version == 1:
        raise ValueError(
            "it was written by an earlier development version of consilience (format 1); "
            "save the model again"
        )
    if format_version != FORMAT_VERSION:
        raise ValueError(f"its format version is {format_version!r}, expected {FORMAT_VERSION}")


def _check_signature(manifest: dict[str, Any], key: bytes) -> None:
    signature = manifest.get("hmac_sha256")
    if signature is None:
        raise ValueError("it has no signature")
    if not hmac.compare_digest(str(signature).encode(), _signature(manifest, key).encode()):
        raise ValueError("it was signed with another key, or modified after it was signed")
