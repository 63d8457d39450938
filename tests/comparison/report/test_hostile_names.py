"""Names that try to be more than names never get out of their place, on the page or in a csv."""
# ruff: noqa: E501 (a case a line)

import csv
import io
from html.parser import HTMLParser
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from comparison.in_process import Store, problem_of, study
from consilience.benchmark.publish import raw_csv
from consilience.benchmark.work import DIAGNOSTICS
from consilience.comparison.inputs import read_files
from consilience.comparison.prediction import predict_files
from consilience.comparison.record import InputFile
from consilience.comparison.report import build_page
from consilience.fusion import LateFusionClassifier
from consilience.tables import FileArgument, TableError, TableModel, TableView

HOSTILE = [
    "<script>alert(1)</script>", "</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)>", "</svg><script>1</script>", "</title><script>1</script>", "</style><script>1</script>",
    "</pre><b>x", "<a href='javascript:alert(1)'>x</a>", '"><script>1</script>', "'><script>1</script>",
    '" onmouseover="alert(1)', "' onfocus='alert(1)", "` onclick=`x", "javascript:alert(1)", "data:text/html,<script>1</script>",
    "<iframe src=//evil.example>", "<object data=x>", "<embed src=x>", "<link rel=stylesheet href=//evil.example>",
    "<meta http-equiv=refresh content=0>", "<base href=//evil.example>", "<form action=//evil.example>", "<math><mtext></mtext></math>",
    "<!-- comment", "--><script>1</script>", "<![CDATA[<script>1</script>]]>", "&lt;script&gt;", "&#60;script&#62;", "&amp;&copy",
    "{{ 7 * 7 }}", "{% raw %}", "${7*7}", "$x^2$", "$\\frac{1}{2}$", "$", "$$$", "\\", "%s%n", "{0}",
    "=1+1", "=HYPERLINK(\"http://evil.example\")", "+1+1", "-1+1", "@SUM(1+1)", "\t=1+1", "=cmd|' /C calc'!A0",
    "a\nb", "a\r\n=1+1", "\u202eevil", "\x00null", "名前", "😀", "x" * 500, "_hidden", ";DROP TABLE results;--",
]  # fmt: skip


DRAWN = {"svg", "defs", "clippath", "g", "path", "rect", "text", "tspan", "use"}


class Structure(HTMLParser):
    """Elements and attributes of a page, without its text; figures may hold drawings only."""

    def __init__(self):
        super().__init__()
        self.tags = []
        self.drawing = False

    def handle_starttag(self, tag, attributes):
        self.drawing = self.drawing or tag == "svg"
        if self.drawing:
            assert tag in DRAWN, tag
        else:
            self.tags.append((tag, tuple(name for name, _ in attributes)))
        for name, value in attributes:
            assert not name.startswith("on"), (tag, name)
            if name in ("href", "src", "xlink:href", "action", "data"):
                assert value.startswith("#"), (tag, name, value)

    def handle_endtag(self, tag):
        self.drawing = self.drawing and tag != "svg"

    def handle_comment(self, text):
        raise AssertionError(f"a comment: {text}")


def structure(page):
    parser = Structure()
    parser.feed(page)
    parser.close()
    return parser.tags


def some_numbers(model, rows, measure):
    return {view: 0.1 * v for v, view in enumerate(rows.X.view_names)}


def page_of(views, classes, name, files, columns):
    # any numbers will do here
    cheap = patch.dict(DIAGNOSTICS, {"shapley": some_numbers, "permutation": some_numbers})
    with Store(":memory:") as store, cheap:
        problem = problem_of(views, classes)
        run, result = study(
            problem,
            store,
            name=name,
            methods=["Concat"],
            inputs=[InputFile(file, "0" * 64) for file in files],
        )
        run.data.notes = [f"columns are in no view: {', '.join(columns)}"]
        run.notes = list(columns)
        run.command = ["consilience", "compare", *files, *columns]
        run.target = columns[0]
        return build_page(run, result, store), raw_csv(result.main)


def safe_cells(text):
    for row in csv.reader(io.StringIO(text)):
        for cell in row:
            try:
                float(cell)
            except ValueError:
                assert not cell.startswith(("=", "+", "-", "@", "\t", "\r")), cell


GROUPS = [HOSTILE[start : start + 7] for start in range(0, len(HOSTILE), 7)]


def test_number_of_hostile_names():
    assert len(HOSTILE) == len(set(HOSTILE)) >= 40
    assert all(len(group) == 7 for group in GROUPS[:-1])


@pytest.fixture(scope="module")
def benign():
    names = [f"name{i}" for i in range(7)]
    return structure(page_of(names, names, names[0], names, names)[0])


@pytest.mark.one_in(4)
@pytest.mark.parametrize("group", range(len(GROUPS)))
def test_page_and_csv(group, benign):
    names = list(dict.fromkeys(GROUPS[group] + HOSTILE))[:7]
    page, table = page_of(names, names, names[0], names, names)
    safe_cells(table)
    # a list of mistakes has as many items as there are mistakes
    result = [tag for tag in structure(page) if tag[0] != "li"]
    assert result == [tag for tag in benign if tag[0] != "li"]
    for name in names:
        assert "<" not in name or name not in page


@pytest.mark.parametrize("name", HOSTILE)
def test_predictions(tmp_path, name):
    problem = problem_of(["v", "w"], [name, "other"])
    model = TableModel(
        LateFusionClassifier().fit(problem.data, problem.target),
        {"v": TableView([name.strip(), "b"], [], 2), "w": TableView(None, [], 2)},
        "Late fusion",
        name,
    )
    table = pa.table({"id": [name, "plain"], name: [0.0, 1.0], "b": [0.0, 1.0]})
    parquet.write_table(table, tmp_path / "v.parquet")
    files = [FileArgument(tmp_path / "v.parquet", None)]
    if "\x00" in name:
        with pytest.raises(TableError, match="without control characters"):
            predict_files(model, files, on="id")
        return
    result = predict_files(model, files, on="id")
    text = result.to_csv()
    safe_cells(text)
    rows = list(csv.reader(io.StringIO(text)))
    assert len(rows) == 3
    assert {len(row) for row in rows} == {4}
    assert rows[1][0].lstrip("'") == name.strip().lstrip("'")


def test_names_of_files_and_columns_are_read(tmp_path):
    """From files to a page: file names and columns as an operating system and a csv allow them."""
    names = [n for n in HOSTILE if "/" not in n and "\x00" not in n and len(n) < 100]
    columns = list(dict.fromkeys(n.strip() for n in names))
    rng = np.random.default_rng(0)
    for file in (names[2], "$x^2$"):
        with open(tmp_path / f"{file}.csv", "w", newline="", encoding="utf-8") as out:
            writer = csv.writer(out)
            writer.writerow([*columns, "label"])
            for i in range(12):
                writer.writerow([*rng.normal(size=len(columns)).round(3), "ab"[i % 2]])
    files = [FileArgument(path, None) for path in sorted(tmp_path.iterdir())]
    read = read_files(files, target="label")
    assert read.views["$x^2$"].columns == columns
    assert set(read.problem.data.view_names) == {names[2], "$x^2$"}
    with Store(":memory:") as store:
        run, result = study(
            read.problem, store, name=read.summary.name, methods=["Concat"], inputs=read.inputs
        )
        structure(build_page(run, result, store))
