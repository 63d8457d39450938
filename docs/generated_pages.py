"""Pages that are written from the code: the API reference, the command line, the tables.

Nothing they contain is written by hand, so a new family, method, data set or option appears on
the site by itself. The files are ignored by git.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from types import ModuleType

import consilience
from consilience.datasets import DATASETS
from consilience.methods import METHODS

REPOSITORY = "https://github.com/consilience-ml/consilience"
TITLES = {
    "": "Top level",
    "benchmark": "Suites and the engine that runs them",
    "boosting": "Boosting",
    "comparison": "Comparison",
    "datasets": "Data sets",
    "distributed": "Data in blocks",
    "fusion": "Fusion",
    "inspection": "Inspection",
    "io": "Model files",
    "kernel": "Kernels",
    "landmark": "Landmarks",
    "margin": "Margins",
    "methods": "Methods by name",
    "sparse": "Sparse methods",
    "tables": "Files and tables",
    "trust": "Trust",
    "views": "Views",
    "vote": "Votes",
}


def public_modules() -> dict[str, ModuleType]:
    """Public subpackages by name; "" is the package itself."""
    subpackages = {
        name: getattr(consilience, name)
        for name in consilience.__all__
        if inspect.ismodule(getattr(consilience, name))
    }
    return {"": consilience, **subpackages}


def public_names(module: ModuleType) -> list[str]:
    """What a module exports, apart from modules."""
    return [name for name in module.__all__ if not inspect.ismodule(getattr(module, name))]


def public_targets() -> dict[str, str]:
    """Targets of the names that prose mentions, with their module or without it.

    Plain words such as ``load`` are linked with their module only: they may mean other things.
    """
    targets = {}
    for module_name, module in public_modules().items():
        for name in public_names(module):
            at_top = not module_name or name in consilience.__all__
            target = f"consilience.{name}" if at_top else f"consilience.{module_name}.{name}"
            targets[f"{module_name}.{name}".lstrip(".")] = target
            if name[0].isupper() or "_" in name:
                targets[name] = target
    return targets


def write(docs: Path) -> None:
    """Write all of them, touching only the files whose text changed."""
    write_api(docs / "api")
    write_text(docs / "cli.md", command_line_page())
    write_text(docs / "guide" / "methods_table.md", methods_table())
    write_text(docs / "guide" / "datasets_table.md", datasets_table())
    for name in ("CHANGELOG.md", "CONTRIBUTING.md"):
        text = (docs.parent / name).read_text(encoding="utf-8")
        write_text(docs / "project" / name.lower(), with_links_from_project(text))


def with_links_from_project(text: str) -> str:
    """A file of the repository's root as a page of docs/project: links lead to the same places."""

    def replace(match: re.Match) -> str:
        link = match[1]
        inside = link.startswith("docs/")
        return f"](../{link[5:]})" if inside else f"]({REPOSITORY}/blob/main/{link})"

    return re.sub(r"\]\((?!https?:|#)([^)\s]+)\)", replace, text)


def write_text(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def write_api(folder: Path) -> None:
    """One page for each public module, and an index of them."""
    modules = public_modules()
    for name, module in modules.items():
        write_text(folder / f"{page_name(name)}.rst", module_page(name, module))
    pages = "\n".join(f"   {page_name(name)}" for name in modules)
    lines = ["API reference", "=============", "", "Every public name, by module.", ""]
    for name, module in modules.items():
        lines.append(f"* :doc:`{page_name(name)}`: {first_line(module)}")
    write_text(
        folder / "index.rst",
        "\n".join([*lines, "", ".. toctree::", "   :hidden:", "   :maxdepth: 2", "", pages, ""]),
    )


def page_name(name: str) -> str:
    return f"consilience.{name}" if name else "consilience"


def module_page(name: str, module: ModuleType) -> str:
    """Tables of the module's names; those that the top level exports have their pages there."""
    title = f"{TITLES.get(name, name)} (``{page_name(name)}``)"
    elsewhere = [n for n in public_names(module) if name and n in consilience.__all__]
    names = [n for n in public_names(module) if n not in elsewhere]
    classes = [n for n in names if inspect.isclass(getattr(module, n))]
    functions = [n for n in names if inspect.isroutine(getattr(module, n))]
    data = [n for n in names if n not in classes and n not in functions]
    lines = [title, "=" * len(title), "", first_line(module), ""]
    lines += [f".. currentmodule:: {page_name(name)}", ""]
    for heading, names in [("Classes", classes), ("Functions", functions), ("Values", data)]:
        if names:
            lines += [heading, "-" * len(heading), "", ".. autosummary::", "   :toctree: generated"]
            lines += ["   :nosignatures:", "", *(f"   {n}" for n in names), ""]
    if elsewhere:
        lines += ["Also at the top level", "---------------------", "", ".. autosummary::"]
        lines += ["   :nosignatures:", "", *(f"   consilience.{n}" for n in elsewhere), ""]
    return "\n".join(lines)


def first_line(module: ModuleType) -> str:
    return (inspect.getdoc(module) or "").split("\n")[0]


def command_line_page() -> str:
    """The help of every command, from the command line's own declarations."""
    import click
    from typer.cli import get_docs_for_click
    from typer.main import get_command

    from consilience.cli import app

    command = get_command(app)
    context = click.Context(command, info_name="consilience")
    text = get_docs_for_click(obj=command, ctx=context, name="consilience")
    return text.replace("# `consilience`", "# The command line", 1)


def methods_table() -> str:
    """Every method by name, as a table of Markdown."""
    rows = [
        f"| {method.name} | {method.summary} | {method.reference} |" for method in METHODS.values()
    ]
    return "\n".join(["| name | what it is | reference |", "|---|---|---|", *rows, ""])


def datasets_table() -> str:
    """Every data set by name, as a table of Markdown."""
    rows = [
        f"| `{name}` | `{dataset.loader.__name__}` | {dataset.summary} |"
        for name, dataset in DATASETS.items()
    ]
    return "\n".join(["| name | loader | what it is |", "|---|---|---|", *rows, ""])
