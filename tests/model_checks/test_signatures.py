"""Signatures: with a key, only files that were written with it are loaded."""

import numpy as np
import pytest

from consilience.fusion import LateFusionClassifier
from consilience.io import ModelFileError, load, save
from model_checks.forge import edits, forge, read_manifest, read_parts, seal

KEY = b"0123456789abcdef"
X = np.random.default_rng(0).normal(size=(20, 3))


@pytest.fixture
def signed(tmp_path):
    model = LateFusionClassifier().fit(X, np.arange(20) % 2)
    save(model, tmp_path / "m.skops", key=KEY)
    return tmp_path / "m.skops"


def test_a_signed_file_is_loaded_with_its_key_and_without(signed):
    expected = load(signed, key=KEY).predict_proba(X)
    np.testing.assert_array_equal(load(signed).predict_proba(X), expected)


def test_another_key(signed):
    with pytest.raises(ModelFileError, match="signed with another key, or modified"):
        load(signed, key=KEY + b"!")


def test_no_signature(signed):
    save(load(signed), signed)
    load(signed)
    with pytest.raises(ModelFileError, match="it has no signature"):
        load(signed, key=KEY)


def loads(path, content):
    """Write a file; return whether it passes all other checks."""
    path.write_bytes(content)
    try:
        load(path)
    except ModelFileError:
        return False
    return True


def test_a_forged_file_with_checksums_that_fit(signed):
    """What the digests do not show, the signature does."""
    content = signed.read_bytes()
    manifest = read_manifest(content)
    reversals = (edit for edit in edits(content) if edit[1:3] == ("array", "reversed"))
    forgeries = (forge(content, edit) for edit in reversals)
    forged = next(each for each in forgeries if each and loads(signed, each))
    with pytest.raises(ModelFileError, match="it has no signature"):
        load(signed, key=KEY)
    signed.write_bytes(seal(read_parts(forged), manifest))
    with pytest.raises(ModelFileError, match="signed with another key, or modified"):
        load(signed, key=KEY)


@pytest.mark.parametrize("name", ["trials", "foreign_types", "packages"])
def test_the_rest_of_the_manifest_is_signed(signed, name):
    content = signed.read_bytes()
    manifest = {**read_manifest(content), name: ["other"]}
    signed.write_bytes(seal(read_parts(content), manifest))
    assert read_manifest(signed.read_bytes())[name] == ["other"]
    with pytest.raises(ModelFileError, match="signed with another key, or modified"):
        load(signed, key=KEY)


@pytest.mark.parametrize(
    ("key", "error"), [("0123456789abcdef", TypeError), (b"short", ValueError)]
)
def test_keys_are_long_enough_bytes(tmp_path, signed, key, error):
    with pytest.raises(error, match="key must"):
        save(LateFusionClassifier(), tmp_path / "other.skops", key=key)
    with pytest.raises(error, match="key must"):
        load(signed, key=key)
