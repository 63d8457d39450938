"""The layout shows the architecture: imports go one way, privates stay in one file."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import consilience

ROOT = Path(consilience.__file__).parent
MODULES = sorted(p for p in ROOT.rglob("*.py"))

# each layer may import those above it, never those below or beside it
FAMILIES = ["_default", "boosting", "fusion", "kernel", "landmark", "margin", "sparse", "vote"]
BELOW_FAMILIES = [
    "_base",
    "_binned_tree",
    "_compat",
    "_core",
    "_docstring",
    "_estimators",
    "_folds",
    "_kernel_views",
    "_method",
    "_copies",
    "_parameters",
    "_solvers",
    "_targets",
    "_training",
    "_warnings",
    "distributed",
    "views",
]
LAZY_SUBPACKAGES = [
    "benchmark",
    "comparison",
    "datasets",
    "distributed",
    "inspection",
    "io",
    "methods",
    "tables",
    "trust",
]
# names of types in model files: declared where the types are, whatever their layer; atomic writes;
# names that the user may have meant
EVERY_LAYER = ["_atomic_write", "_model_types", "_suggest"]
ALLOWED = {
    "_atomic_write": [],
    "_model_types": [],
    "_suggest": [],
    "_model_archive": ["_model_bounds"],
    "_model_bounds": [],
    "_model_checks": ["_compat", "views"],
    "_model_schema": [],
    "_compat": ["_core"],
    "_core": [],
    "_docstring": [],
    "_parameters": ["_compat"],
    "_solvers": ["_core"],
    "_warnings": [],
    "views": ["_compat", "_core", "_parameters", "_warnings"],
    "_kernel_views": ["_parameters", "_solvers", "_warnings", "views"],
    "_targets": ["views"],
    "_estimators": [],
    "_folds": ["_copies", "_warnings", "views"],
    "_copies": ["_core", "_warnings", "views"],
    "_method": ["_estimators", "views"],
    "_training": ["_core", "_targets", "views"],
    "distributed": ["_core", "_targets", "_training", "_warnings", "views"],
    "_base": [
        "_compat",
        "_core",
        "_estimators",
        "_parameters",
        "_targets",
        "_training",
        "_warnings",
        "distributed",
        "views",
    ],
    **dict.fromkeys(FAMILIES, BELOW_FAMILIES),
    "datasets": ["views"],
    "inspection": [
        "_base",
        "_core",
        "_folds",
        "_kernel_views",
        "_parameters",
        "_targets",
        "_warnings",
        "distributed",
        "views",
        *FAMILIES,
    ],
    "io": ["_model_archive", "_model_bounds", "_model_checks", "_model_schema"],
    "tables": ["views"],
    "trust": [*BELOW_FAMILIES, "_default"],
    "_baselines": ["_estimators", "_method", "views", *FAMILIES],
    "methods": ["_base", "_estimators", "_method", "views", *FAMILIES],
    "benchmark": ["_estimators", "_folds", "datasets", "inspection", "methods", "tables", "views"],
    "comparison": [
        "_copies",
        "_targets",
        "_warnings",
        "benchmark",
        "datasets",
        "inspection",
        "io",
        "methods",
        "tables",
        "trust",
        "views",
    ],
    "cli": ["benchmark", "comparison", "datasets", "io", "methods", "tables"],
    "__main__": ["cli"],
    "_binned_tree": ["_core", "_parameters", "_targets", "_training", "distributed", "views"],
    # the other subpackages are named for type checkers only: test_import_is_light
    "__init__": [*FAMILIES, "_binned_tree", *LAZY_SUBPACKAGES, "views"],
}
PACKAGES_OF_EXTRAS = {
    "dask", "distributed", "jinja2", "matplotlib", "msgspec", "pandas", "polars", "pyarrow", "rich",
    "skops", "tomli_w", "typer",
}  # fmt: skip
# only downloads need these
PACKAGES_OF_DATA = {"pooch", "platformdirs", "requests"}
# the engine needs an extra; records of methods and statistics are for everybody
MAY_USE_EXTRAS = {
    "benchmark": {"msgspec", "rich"},
    "cli": PACKAGES_OF_EXTRAS,
    "comparison": {"jinja2", "matplotlib", "msgspec", "rich"},
    "distributed": {"dask", "distributed"},
    "inspection": {"matplotlib"},
    "io": {"skops"},
    "trust": {"matplotlib"},
    "_model_checks": {"pyarrow"},  # only for models of tables
    "tables": {"pyarrow"},
}
DRAWS = ("benchmark/figures.py", "benchmark/publish.py")
NEEDS_NO_EXTRA = ("benchmark/__init__.py", "benchmark/statistics.py")


def imports(path):
    """Every imported module, with the names taken from it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, []
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module, [alias.name for alias in node.names]


def layer(path):
    first = path.relative_to(ROOT).parts[0]
    return first.removesuffix(".py")


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_go_one_way(path):
    own = layer(path)
    assert own in ALLOWED, f"{own} has no place in the architecture yet"
    for module, names in imports(path):
        if not module.startswith("consilience"):
            continue
        parts = module.split(".")[1:]
        targets = parts[:1] or [name for name in names if name in ALLOWED]
        for target in targets:
            allowed = [own, *EVERY_LAYER, *ALLOWED[own]]
            assert target in allowed, f"{own} must not import {target}"


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_privates_of_scikit_learn_stay_in_compat(path):
    if path.name == "_compat.py":
        return
    for module, names in imports(path):
        if module.split(".")[0] != "sklearn":
            continue
        private = [part for part in [*module.split("."), *names] if part.startswith("_")]
        assert not private, f"{path.name} uses scikit-learn's private {private}"


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_core_needs_no_extra(path):
    used = {module.split(".")[0] for module, _ in imports(path)}
    place = path.relative_to(ROOT).as_posix()
    allowed = set() if place in NEEDS_NO_EXTRA else MAY_USE_EXTRAS.get(layer(path), set())
    allowed |= {"matplotlib"} if place in DRAWS else set()
    assert not used & PACKAGES_OF_EXTRAS - allowed
    assert layer(path) == "datasets" or not used & PACKAGES_OF_DATA


def test_every_package_has_a_folder_of_tests():
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    folders = {path.name for path in Path(__file__).parent.iterdir() if path.is_dir()}
    # a folder ``sparse`` on the path of the tests would hide the package of that name
    names = {"sparse_family" if name == "sparse" else name.removeprefix("_") for name in packages}
    assert names <= folders


def test_import_is_light():
    # scikit-learn loads some optional packages by itself when they are there
    script = (
        "import sys, sklearn.preprocessing, sklearn.pipeline; before = set(sys.modules); "
        "import consilience, consilience.datasets; "
        "print(*{m.split('.')[0] for m in set(sys.modules) - before})"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert not set(done.stdout.split()) & (PACKAGES_OF_EXTRAS | PACKAGES_OF_DATA)


def test_public_names():
    for name in consilience.__all__:
        assert getattr(consilience, name) is not None
    assert set(consilience.__all__) <= set(dir(consilience))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        consilience.nothing  # noqa: B018
