"""Readers of published formats: what they must refuse, and corners the real files have."""

import gzip
import struct

import numpy as np
import pytest

from consilience.datasets import _breast_tcga as breast_tcga
from consilience.datasets import _flower17 as flower17
from consilience.datasets._archives import unpack
from consilience.datasets._course import extract_words
from consilience.datasets._formats import (
    has_word_zero,
    read_arff,
    read_idx,
    read_labelled_words,
    read_ts,
)
from consilience.datasets._rdata import as_dict, read_factor, read_rda, read_table
from reference import originals as r
from reference import small_sets


def written(tmp_path, content, name="file"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


# -- idx -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "dtype"), [(0x08, "u1"), (0x0B, ">i2"), (0x0C, ">i4"), (0x0D, ">f4"), (0x0E, ">f8")]
)
def test_idx_types(tmp_path, code, dtype):
    values = np.arange(24).reshape(2, 3, 4).astype(dtype)
    content = struct.pack(">HBB3I", 0, code, 3, 2, 3, 4) + values.tobytes()
    np.testing.assert_array_equal(read_idx(written(tmp_path, content)), values)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not an idx file"),
        (b"\x89PNG1234", "not an idx file"),
        (struct.pack(">HBBI", 0, 8, 1, 5) + b"1234", "4 values for the shape"),
        (struct.pack(">HBB", 0, 8, 3) + b"\0\0\0\1", "for the shape"),
        (struct.pack(">HBB3I", 0, 8, 3, 2**31, 2**31, 4) + b"1", "for the shape"),
    ],
)
def test_invalid_idx_raises(tmp_path, content, message):
    with pytest.raises(ValueError, match=message):
        read_idx(written(tmp_path, content))


# -- ARFF, ts, bags of words ---------------------------------------------------------------------


def test_arff(tmp_path):
    text = "% about\n@relation r\n@attribute a real\n@Data\n0,255,3\n% between\n1,2,4\n"
    assert read_arff(written(tmp_path, text)).tolist() == [[0, 255, 3], [1, 2, 4]]
    with pytest.raises(ValueError, match="no @data"):
        read_arff(written(tmp_path, "@relation r\n1,2\n"))
    with pytest.raises(ValueError, match="could not convert"):
        read_arff(written(tmp_path, "@data\n1,?,2\n"))


def test_ts(tmp_path):
    text = "#c\n@univariate false\n@data\n\n1,2:3,4:a\n-1e-3,0:5,6: b \n"
    values, labels = read_ts(written(tmp_path, text))
    assert values.tolist() == [[[1, 2], [3, 4]], [[-0.001, 0], [5, 6]]]
    assert labels.tolist() == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("@data\n1,2:a\n1,2,3:b\n", "2 different shapes"),
        ("@data\n1,2:a\n1,2:3,4:b\n", "2 different shapes"),
        ("@data\n", "0 different shapes"),
        ("1,2:a\n", "0 different shapes"),
        ("@data\n1,?:a\n", "line 2: could not convert"),
        ("@data\n1,2:a\n1,:b\n", "line 3: could not convert"),
    ],
)
def test_invalid_ts_raises(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        read_ts(written(tmp_path, text))


def test_labelled_words(tmp_path):
    path = written(tmp_path, "C15 1:0.5 3:-2\nM11 \n\nC15 2:1e3\n")
    assert not has_word_zero(path)
    words, labels = read_labelled_words(path, 3, zero_based=False)
    assert words.toarray().tolist() == [[0.5, 0, -2], [0, 0, 0], [0, 1000, 0]]
    assert words.dtype == np.float32
    assert labels.tolist() == ["C15", "M11", "C15"]
    words, _ = read_labelled_words(path, 5, zero_based=True)
    assert words.toarray()[0].tolist() == [0, 0.5, 0, -2, 0]
    assert has_word_zero(written(tmp_path, "E21 0:1 10:2\n"))
    assert not has_word_zero(written(tmp_path, "E21 10:2\n"))


@pytest.mark.parametrize("text", ["C15 4:1\n", "C15 a:1\n", "C15 1:x\n", "C15 1\n", "C15 -1:2\n"])
def test_invalid_labelled_words_raise(tmp_path, text):
    with pytest.raises(ValueError, match=r"."):
        read_labelled_words(written(tmp_path, text), 3, zero_based=False)


def test_words_of_a_page():
    page = "<B>CS-414</b>&amp;Na\xefve a b2 <!-- no <i> --> <SCRIPT>x=1</script >ok &lt;done&gt;"
    assert extract_words(page) == ["cs", "na", "ve", "b2", "ok", "done"]


# -- R -------------------------------------------------------------------------------------------


def read_back(tmp_path, item, pack=bytes):
    r.write_rda(tmp_path / "x.rda", "x", item, pack)
    unpack(tmp_path / "x.rda", tmp_path / "unpacked")
    return read_rda(tmp_path / "unpacked" / "x.rda")["x"]


def test_r_list_matrix_factor(tmp_path):
    values = np.arange(6.0).reshape(2, 3)
    item = r.r_list(
        {
            "m": r.r_matrix(values, ["a", "b"], ["x", "y", "ü"]),
            "f": r.r_factor(np.array([1, 0, 1]), ["no", "yes"]),
        }
    )
    members = as_dict(read_back(tmp_path, item, gzip.compress))
    matrix, rows, columns = read_table(members["m"])
    np.testing.assert_array_equal(matrix, values)
    assert (rows.tolist(), columns.tolist()) == (["a", "b"], ["x", "y", "ü"])
    codes, levels = read_factor(members["f"])
    assert (codes.tolist(), levels.tolist()) == ([1, 0, 1], ["no", "yes"])


@pytest.mark.parametrize("key", ["mrna_names", "target_names", "sample_id_test"])
def test_parts_of_tcga_must_agree(tmp_path, key):
    (arrays,) = small_sets.breast_tcga().values()
    for part in ("data.train", "data.test"):
        suffix = "_test" if part == "data.test" else ""
        views = {}
        for view in ("mrna", "mirna"):
            used = dict(arrays)
            if suffix and (key != "sample_id_test" or view == "mrna"):
                used[key] = used[key][::-1]
            rows, columns = used[f"sample_id{suffix}"], used[f"{view}_names"]
            views[view] = r.r_matrix(used[f"{view}{suffix}"], rows, columns)
        views["subtype"] = r.r_factor(used[f"y{suffix}"], used["target_names"])
        arrays[part] = r.r_list(views)
    parts = {part: arrays[part] for part in ("data.train", "data.test")}
    r.write_rda(tmp_path / "breast.TCGA.rda", "breast.TCGA", r.r_list(parts))
    with pytest.raises(ValueError, match=f"{key} are not the same in all parts"):
        list(breast_tcga.convert(tmp_path))


def test_r_data_frame(tmp_path):
    values = np.arange(6.0).reshape(2, 3)
    matrix, rows, columns = read_table(read_back(tmp_path, r.r_frame(values, ["x", "y", "z"])))
    np.testing.assert_array_equal(matrix, values)
    assert (rows.tolist(), columns.tolist()) == (["1", "2"], ["x", "y", "z"])


def test_r_symbols_are_written_once(tmp_path):
    """The second list refers to the symbol of the attribute that the first has introduced."""
    again = r.number(0x213) + r.number(1) + r.r_reals([2.0])
    again += r.number(0x402) + r.number(0x2FF) + r.r_strings(["b"]) + r.number(254)
    outer = r.number(19) + r.number(2) + r.r_list({"a": r.r_reals([1.0])}) + again
    first, second = read_back(tmp_path, outer).values
    assert as_dict(first)["a"].values.tolist() == [1.0]
    assert as_dict(second)["b"].values.tolist() == [2.0]


def test_r_compact_and_wrapped_vectors(tmp_path):
    def altrep(name, state):
        words = [r.r_symbol(name), r.r_symbol("base"), r.r_integers([13])]
        info = b"".join(r.number(2) + word for word in words) + r.number(254)
        return r.number(238) + info + state + r.number(254)

    counted = altrep("compact_intseq", r.r_reals([3, 5, 2]))
    wrapped = altrep("wrap_real", r.number(2) + r.r_reals([7.0, 8.0]) + r.r_integers([0, 0]))
    result = read_back(tmp_path, r.r_unnamed(counted, wrapped)).values
    assert [vector.values.tolist() for vector in result] == [[5, 7, 9], [7.0, 8.0]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"PK nothing", "not an R data file"),
        (b"RDX2\nA\n2\n", "not an R data file"),
        (b"RDX3\nX\n" + r.number(3) * 3 + r.number(10**9), "ends too early"),
        (b"RDX2\nX\n" + r.number(2) * 3 + r.number(254), "no named objects"),
    ],
)
def test_invalid_r_files_raise(tmp_path, content, message):
    with pytest.raises(ValueError, match=message):
        read_rda(written(tmp_path, content))


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (r.number(3) + r.number(254), "type 3, which is not data"),
        (r.number(4) + r.number(0), "type 4, which is not data"),
        (r.number(14) + r.number(2**31 - 1), "ends too early"),
        (r.number(14) + r.number(-5), "ends too early"),
        (r.number(19) + r.number(2**31 - 1), "ends too early"),
        (r.number(0x5FF), "a symbol that does not exist"),
        (r.number(19) + r.number(1), "ends too early"),
        ((r.number(19) + r.number(1)) * 5000, "nested too deeply"),
        (r.r_factor(np.array([0, 5]), ["a", "b"]), "without a level"),
    ],
)
def test_unknown_r_items_raise(tmp_path, item, message):
    with pytest.raises(ValueError, match=message):
        read_factor(read_back(tmp_path, item))


def test_rows_of_the_splits_of_flower17_begin_at_1(tmp_path):
    arrays = small_sets.flower17()["flower17"]
    r.flower17(arrays, tmp_path)
    ((name, read),) = flower17.convert(tmp_path)
    assert name == "flower17"
    for part in ("trn1", "val2", "tst3"):
        np.testing.assert_array_equal(read[part], arrays[part])
