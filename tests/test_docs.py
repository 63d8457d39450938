"""The site: public names have pages, quoted messages exist, links lead somewhere."""

import importlib
import importlib.util
import inspect
import re
from pathlib import Path

import pytest

import consilience

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PACKAGE = Path(consilience.__file__).parent

pytestmark = pytest.mark.skipif(
    not (DOCS / "conf.py").exists(), reason="the documentation is not part of an installed package"
)


@pytest.fixture(scope="module")
def generated_pages():
    spec = importlib.util.spec_from_file_location("generated_pages", DOCS / "generated_pages.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def exported_names():
    """(module, name) of everything exported by an ``__all__`` of a public subpackage."""
    for path in [
        PACKAGE / "__init__.py",
        *PACKAGE.glob("[a-z]*.py"),
        *PACKAGE.glob("[a-z]*/__init__.py"),
    ]:
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        if parts[0] == "cli":
            continue
        name = ".".join(["consilience", *(part for part in parts if part != "__init__")])
        module = importlib.import_module(name)
        for exported in module.__all__:
            if not inspect.ismodule(getattr(module, exported)):
                yield name, exported


def test_every_public_name_is_in_the_reference(generated_pages, tmp_path):
    generated_pages.write_api(tmp_path)
    index = (tmp_path / "index.rst").read_text()
    names = list(exported_names())
    assert len(names) > 60
    for module, name in names:
        assert f"   {module}\n" in index
        listed = (tmp_path / f"{module}.rst").read_text().split()
        assert name in listed or f"consilience.{name}" in listed, f"{module}.{name}"


def test_every_public_name_has_an_example():
    for module, name in exported_names():
        exported = getattr(importlib.import_module(module), name)
        is_error = inspect.isclass(exported) and issubclass(exported, Exception)
        if callable(exported) and not is_error:
            assert ">>> " in exported.__doc__, f"{module}.{name}"


def test_every_subpackage_has_a_title(generated_pages):
    assert set(generated_pages.public_modules()) <= set(generated_pages.TITLES)


def test_links_of_root_files_lead_to_the_same_places(generated_pages):
    text = "[a](docs/results/a.md) [b](LICENSE) [c](#c) [d](https://example.org)"
    assert generated_pages.with_links_from_project(text) == (
        f"[a](../results/a.md) [b]({generated_pages.REPOSITORY}/blob/main/LICENSE) "
        "[c](#c) [d](https://example.org)"
    )


def test_the_command_line_page_has_every_command(generated_pages):
    page = generated_pages.command_line_page()
    for command in (
        "compare",
        "predict",
        "report",
        "bench",
        "suites",
        "methods",
        "datasets",
        "fetch",
    ):
        assert f"## `consilience {command}`" in page


def test_the_tables_have_every_method_and_data_set(generated_pages):
    from consilience.datasets import DATASETS
    from consilience.methods import METHODS

    methods, datasets = generated_pages.methods_table(), generated_pages.datasets_table()
    assert all(f"| {name} |" in methods for name in METHODS)
    assert all(f"| `{name}` |" in datasets for name in DATASETS)


@pytest.fixture(scope="module")
def messages():
    """Sources of the package, with adjacent string literals joined."""
    sources = "\n".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    return re.sub(r'"\s*\n\s*f?"', "", sources)


def quoted_messages():
    if not (DOCS / "faq.md").exists():
        return []
    return re.findall(r"^### `(.*)`$", (DOCS / "faq.md").read_text(encoding="utf-8"), flags=re.M)


@pytest.mark.parametrize("quoted", quoted_messages())
def test_messages_of_the_faq_exist(quoted, messages):
    fragments = [part.strip() for part in quoted.split("…") if len(part.strip()) > 3]
    assert fragments
    assert all(fragment in messages for fragment in fragments)


def pages():
    return sorted(p for p in DOCS.rglob("*.md") if not {"_build", "gallery", "api"} & {*p.parts})


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(DOCS)))
def test_links_lead_to_pages(page):
    links = re.findall(
        r"\]\((?!https?:|#|mailto:)([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8")
    )
    for link in links:
        target = (page.parent / link).resolve()
        if DOCS / "api" in target.parents or target.parent == DOCS / "results":
            continue  # pages that are generated, or appear when a suite has been run
        if DOCS / "gallery" in target.parents:  # drawn by a script when the site is built
            folder, name = target.parents[1].name, target.stem.removeprefix("sphx_glr_")
            target = ROOT / "examples" / folder / f"{name.rpartition('_')[0]}.py"
        assert target.exists(), link


def test_pages_name_existing_gallery_scripts():
    labels = {
        f"sphx_glr_gallery_{path.parent.name}_{path.name}"
        for path in (ROOT / "examples").glob("*/*.py")
    }
    for page in pages():
        used = re.findall(r"<(sphx_glr_gallery_\S+)>", page.read_text(encoding="utf-8"))
        assert set(used) <= labels, page.name


def test_broken_links_of_a_site_are_reported(tmp_path):
    spec = importlib.util.spec_from_file_location("check_links", DOCS / "check_links.py")
    check_links = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(check_links)
    (tmp_path / "a.html").write_text(
        '<h1 id="top">A</h1><a href="b.html#here"></a><a href="b.html#lost"></a>'
        '<a href="c.html"></a><a href="#top"></a><a href="https://example.org/x"></a>'
    )
    (tmp_path / "b.html").write_text('<p id="here"></p><img src="lost.png">')
    assert check_links.broken_links(tmp_path) == [
        "a.html: b.html#lost",
        "a.html: c.html",
        "b.html: lost.png",
    ]
