"""The data sets in the form their publishers give them, written from arrays.

Every function takes the arrays of the ``.npz`` layout and a folder, and writes the files under the
names that ``fetch_*`` downloads. Written for the tests from descriptions of the formats, and apart
from the readers.
"""

import bz2
import gzip
import io
import struct
import tarfile
import zipfile

import numpy as np
import scipy.sparse as sp
from scipy.io import mmwrite, savemat

from consilience.datasets._store import sparse_view

LANGUAGES = ("EN", "FR", "GR", "IT", "SP")


def zipped(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def tarred(members):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def mnist(arrays, folder):
    n = int(arrays["n_train"])
    for part, rows in (("train", slice(n)), ("t10k", slice(n, None))):
        for kind, values in (("images-idx3", arrays["X"]), ("labels-idx1", arrays["y"])):
            values = values[rows]
            head = struct.pack(f">HBB{values.ndim}I", 0, 8, values.ndim, *values.shape)
            content = gzip.compress(head + values.tobytes(), compresslevel=1)
            (folder / f"{part}-{kind}-ubyte.gz").write_bytes(content)


def mnist_openml(arrays, folder):
    lines = ["% a comment", "@relation mnist_784", "@attribute pixel1 real", "@DATA"]
    for image, label in zip(arrays["X"], arrays["y"], strict=True):
        lines.append(",".join(map(str, [*image.ravel(), label])))
    (folder / "mnist_784.arff").write_text("\n".join(lines) + "\n")


def mfeat(arrays, folder):
    members = {}
    for name in ("fou", "fac", "kar", "pix", "zer", "mor"):
        if arrays[name].dtype.kind == "i":
            lines = ["".join(f"{value:3d}" for value in row) for row in arrays[name]]
            if name == "fac":
                lines = [" ".join(f"{value:4d}" for value in row) for row in arrays[name]]
        else:
            lines = ["  ".join(map(repr, row.tolist())) for row in arrays[name]]
        members[f"mfeat-{name}"] = "\n".join(lines) + "\n"
    inner = tarred({f"mfeat/{name}": content.encode() for name, content in members.items()})
    zipped(folder / "mfeat.zip", {"mfeat.tar": inner, **members, "mfeat.info": "about"})


def uwave(arrays, folder):
    n, members = int(arrays["n_train"]), {}
    series = np.hstack([arrays[key] for key in ("x", "y_axis", "z")]).astype(np.float64)
    for part, rows in (("TRAIN", slice(n)), ("TEST", slice(n, None))):
        lines = ["# gestures", "@problemName UWave", "@classLabel true 1 2 3 4 5 6 7 8", "@data"]
        for row, label in zip(series[rows].tolist(), arrays["y"][rows], strict=True):
            lines.append(",".join(map(repr, row)) + f":{label}")
        members[f"UWaveGestureLibraryAll_{part}.ts"] = "\n".join(lines) + "\n"
    zipped(folder / "uwave.zip", members)


def ads(arrays, folder):
    kind = {"height": "continuous.", "width": "continuous.", "aratio": "continuous."}
    names = ["| a comment: nothing", "ad, nonad  | classes.", ""]
    names += [f"{name}: {kind.get(name, '0,1.')}" for name in arrays["feature_names"]]
    groups = ("geometry", "url", "origurl", "ancurl", "alt", "caption")
    table = np.hstack([arrays[group].astype(np.float64) for group in groups])
    lines = []
    for row, label in zip(table.tolist(), arrays["y"], strict=True):
        cells = ["   ?" if value != value else f"{value:g}" for value in row]
        if row[2] == row[2]:
            cells[2] = repr(row[2])
        lines.append(",".join(cells) + ("," + ("ad." if label else "nonad.")))
    members = {"ad.data": "\n".join(lines) + "\n", "ad.names": "\n".join(names).encode("latin-1")}
    zipped(folder / "ads.zip", members)


def ujiindoorloc(arrays, folder):
    keys = ("longitude", "latitude", "floor", "building", "space_id", "relative_position")
    keys += ("user_id", "phone_id", "timestamp")
    header = [f'"WAP{number:03d}"' for number in range(1, arrays["rssi"].shape[1] + 1)]
    header += ['"LONGITUDE"', '"LATITUDE"', '"FLOOR"', '"BUILDINGID"', '"SPACEID"']
    header += ['"RELATIVEPOSITION"', '"USERID"', '"PHONEID"', '"TIMESTAMP"']
    rows = [
        ",".join(map(str, signals)) + "," + ",".join(map(str, details))
        for signals, *details in zip(
            arrays["rssi"].tolist(), *(arrays[key].tolist() for key in keys), strict=True
        )
    ]
    n, members = int(arrays["n_train"]), {}
    for name, part in (("training", rows[:n]), ("validation", rows[n:])):
        members[f"UJIndoorLoc/{name}Data.csv"] = "\n".join([",".join(header), *part]) + "\n"
    zipped(folder / "ujiindoorloc.zip", members)


def reuters_full(arrays, folder):
    """``arrays`` is a dict of source language -> arrays."""
    members = {}
    for source, stored in arrays.items():
        labels = stored["target_names"][stored["y"]]
        for language in LANGUAGES:
            words, lines = sparse_view(stored, language), []
            for row, label in enumerate(labels):
                part = slice(words.indptr[row], words.indptr[row + 1])
                pairs = zip(words.indices[part], words.data[part].tolist(), strict=True)
                lines.append(" ".join([label, *(f"{word}:{value!r}" for word, value in pairs)]))
            name = f"rcv1rcv2aminigoutte/{language}/Index_{source}-{language}"
            members[name] = ("\n".join(lines) + "\n").encode()
    inner = bz2.compress(tarred(members), compresslevel=1)
    zipped(folder / "reuters.zip", {"rcv1rcv2aminigoutte.tar.bz2": inner})


def reuters_sample(arrays, folder):
    names = list(arrays["target_names"])
    members = {"labels.txt": "\n".join(names).encode(), "README.txt": b"about"}
    members["reutersEN_act.txt"] = "\n".join(str(code + 1) for code in arrays["y"]).encode()
    for sample in (2, 1):
        for language in LANGUAGES:
            buffer = io.BytesIO()
            mmwrite(buffer, sp.coo_array(sparse_view(arrays, language)) * sample, precision=9)
            members[f"reutersEN_{sample}_{language}.mtx"] = buffer.getvalue()
    content = gzip.compress(tarred({f"ReutersEN/{k}": v for k, v in members.items()}))
    (folder / "ReutersEN.tar.gz").write_bytes(content)


def flower17(arrays, folder):
    first = {f"D_{key}": arrays[key] for key in ("colourgc", "shapegc", "texturegc")}
    second = {f"D_{key}": arrays[key] for key in ("hsv", "hog", "siftint", "siftbdy")}
    savemat(folder / "distancematrices17gcfeat06.mat", first)
    savemat(folder / "distancematrices17itfeat08.mat", second, do_compression=True)
    splits = {
        f"{part}{number}": arrays[f"{part}{number}"][None].astype(np.float64) + 1
        for part in ("trn", "val", "tst")
        for number in (1, 2, 3)
    }
    savemat(folder / "datasplits.mat", splits)


def course(arrays, folder):
    members = {"course-cotrain-data/README": b"about"}
    for view in ("fulltext", "inlinks"):
        text, ends = arrays[f"{view}_bytes"].tobytes(), arrays[f"{view}_offsets"]
        for row, (name, y) in enumerate(zip(arrays["sample_id"], arrays["y"], strict=True)):
            kind = "course" if y else "non-course"
            page = text[ends[row] : ends[row + 1]]
            members[f"course-cotrain-data/{view}/{kind}/{name}"] = page
    content = gzip.compress(tarred(members), compresslevel=1)
    (folder / "course-cotrain-data.tar.gz").write_bytes(content)


def breast_tcga(arrays, folder):
    parts = {}
    for part, suffix in (("data.train", ""), ("data.test", "_test")):
        members = {
            view: r_matrix(arrays[f"{view}{suffix}"], arrays[f"sample_id{suffix}"], columns)
            for view in ("mirna", "mrna", "protein")
            if f"{view}{suffix}" in arrays
            for columns in [arrays[f"{view}_names"]]
        }
        members["subtype"] = r_factor(arrays[f"y{suffix}"], arrays["target_names"])
        parts[part] = r_list(members)
    write_rda(folder / "breast.TCGA.rda", "breast.TCGA", r_list(parts), gzip.compress)


def nutrimouse(arrays, folder):
    members = {view: r_frame(arrays[view], arrays[f"{view}_names"]) for view in ("gene", "lipid")}
    for key in ("diet", "genotype"):
        members[key] = r_factor(arrays[key], arrays[f"{key}_names"])
    write_rda(folder / "nutrimouse.rda", "nutrimouse", r_list(members), bz2.compress)


# -- R's serialisation, version 2, big-endian ----------------------------------------------------


def number(value):
    return struct.pack(">i", value)


def r_characters(text):
    return number(0x00040009) + number(len(text.encode())) + text.encode()


def r_symbol(text):
    return number(1) + r_characters(text)


def attributes(pairs):
    links = [number(0x402) + r_symbol(key) + value for key, value in pairs.items()]
    return b"".join(links) + number(254)


def with_attributes(kind, length, content, pairs):
    flags = kind | (0x200 if pairs else 0)
    return number(flags) + number(length) + content + (attributes(pairs) if pairs else b"")


def r_strings(texts, **pairs):
    return with_attributes(16, len(texts), b"".join(map(r_characters, texts)), pairs)


def r_integers(values, **pairs):
    return with_attributes(13, len(values), np.asarray(values, ">i4").tobytes(), pairs)


def r_reals(values, **pairs):
    return with_attributes(14, len(values), np.asarray(values, ">f8").tobytes(), pairs)


def r_list(members, **pairs):
    names = r_strings(list(members))
    return with_attributes(19, len(members), b"".join(members.values()), {"names": names, **pairs})


def r_unnamed(*members):
    return with_attributes(19, len(members), b"".join(members), {})


def r_factor(codes, levels):
    kind = r_strings(["factor"])
    values = codes.astype(int) + 1
    return r_integers(values, **{"levels": r_strings(list(levels)), "class": kind})


def r_matrix(values, rows, columns):
    names = r_unnamed(r_strings(list(rows)), r_strings(list(columns)))
    return r_reals(values.ravel(order="F"), dim=r_integers(values.shape), dimnames=names)


def r_frame(values, columns):
    members = {name: r_reals(column) for name, column in zip(columns, values.T, strict=True)}
    rows = r_integers([-(2**31), -len(values)])
    return r_list(members, **{"row.names": rows, "class": r_strings(["data.frame"])})


def write_rda(path, name, item, pack=bytes):
    head = b"RDX2\nX\n" + number(2) + number(0x30500) + number(0x20300)
    content = head + number(0x402) + r_symbol(name) + item + number(254)
    path.write_bytes(pack(content))
