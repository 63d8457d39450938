"""Public names of types in model files: every one leads to its type and back."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import consilience
from consilience import _model_types
from consilience._compat import compiled_loss_types
from consilience._model_types import import_path, model_type, package_of, public_name, resolve

ROOT = Path(consilience.__file__).parent


def declared_names():
    """Public names in the source, with the import paths of their definitions."""
    for path in sorted(ROOT.rglob("*.py")):
        module = ".".join(("consilience", *path.relative_to(ROOT).with_suffix("").parts))
        for node in ast.parse(path.read_text()).body:
            for call in getattr(node, "decorator_list", []):
                if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "model_type":
                    yield f"consilience.{call.args[0].value}", f"{module}.{node.name}"


DECLARED = dict(declared_names())


@pytest.fixture
def registry(monkeypatch):
    """A copy of the registry, for a test that registers something."""
    monkeypatch.setattr(_model_types, "_PATHS", dict(_model_types._PATHS))
    monkeypatch.setattr(_model_types, "_PUBLIC_NAMES", dict(_model_types._PUBLIC_NAMES))


def defined_in(module, name):
    """A class as if it was defined at the top level of a module."""
    return type(name, (), {"__module__": module, "__qualname__": name})


@pytest.mark.parametrize("name", DECLARED)
def test_every_name_leads_to_its_type_and_back(name):
    item = resolve(name)
    assert import_path(item) == DECLARED[name]
    assert public_name(item) == public_name(DECLARED[name]) == name


def test_names_are_unique():
    assert len(DECLARED) == len(list(declared_names())) >= 60


FRESH_PROCESSES = """
import os, sys
import consilience._model_types as types
for package, modules in list(types.MODULES.items()):
    child = os.fork()
    if not child:
        types.MODULES = {**dict.fromkeys(types.MODULES, ()), package: modules}
        try:
            for name in NAMES:
                if types.package_of(name) == package:
                    types.resolve(name)
                    print(name, flush=True)
        finally:
            os._exit(0)
    os.waitpid(child, 0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a fresh process per package")
def test_the_modules_of_a_package_define_its_types():
    """In fresh processes, where no other test has imported the types already."""
    script = FRESH_PROCESSES.replace("NAMES", repr(list(DECLARED)))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert sorted(done.stdout.split()) == sorted(DECLARED), done.stderr


def test_public_classes_are_named_as_users_import_them():
    for name in DECLARED:
        package = package_of(name)
        public = getattr(consilience, package, None) if package else consilience
        short = name.rpartition(".")[2]
        if short in getattr(public, "__all__", ()):
            assert getattr(public, short) is resolve(name)
    for name in ("ConsilienceClassifier", "BinnedTreeClassifier"):
        assert public_name(getattr(consilience, name)) == f"consilience.{name}"


@pytest.mark.parametrize(
    "name",
    [
        "consilience.margin._machine.Machine",
        "consilience.margin.Nothing",
        "consilience.nothing.Machine",
        "consilience.cli.main",
        "consilience.io",
        "consilience.benchmark._as_dense",
        "consilience._model_types.resolve",
        "consilience",
        "consilience.",
        "consilience.margin.Machine\n",
        "os.system",
        "",
    ],
)
def test_other_names_are_errors(name):
    with pytest.raises(LookupError, match="model type"):
        resolve(name)


def test_looking_up_a_name_imports_nothing_but_model_types():
    script = (
        "import sys; from consilience._model_types import resolve\n"
        "for name in ('consilience.cli.main', 'os.system', 'antigravity.X'):\n"
        "    try: resolve(name)\n"
        "    except LookupError: pass\n"
        "assert not {'antigravity', 'consilience.cli', 'consilience.io'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_types_without_a_name():
    with pytest.raises(LookupError, match=r"pathlib.*\.Path has no public name"):
        public_name(Path)


def test_aliases(registry, monkeypatch):
    moved = defined_in("consilience.kernel._mkl", "Moved")
    monkeypatch.setattr("consilience.kernel._mkl.Moved", moved, raising=False)
    assert model_type("kernel.Moved", aliases=["margin.Old", "removed.Older"])(moved) is moved
    for name in ("consilience.kernel.Moved", "consilience.margin.Old", "consilience.removed.Older"):
        assert resolve(name) is moved
    assert public_name(moved) == "consilience.kernel.Moved"


def test_a_name_belongs_to_one_type(registry):
    other = defined_in("consilience.margin._other", "Machine")
    with pytest.raises(ValueError, match=r"already the public name of consilience.*_machine"):
        model_type("margin.Machine")(other)
    with pytest.raises(ValueError, match=r"already the public name of consilience.*_machine"):
        model_type("margin.Other", aliases=["margin.Machine"])(other)
    with pytest.raises(LookupError, match="no public name"):
        public_name(other)
    machine = resolve("consilience.margin.Machine")
    with pytest.raises(ValueError, match=r"already has the public name consilience\.margin"):
        model_type("margin.Engine")(machine)
    assert model_type("margin.Machine")(machine) is machine  # its module is reloaded


def test_names_that_cannot_be_declared(registry):
    class Local:
        pass

    with pytest.raises(ValueError, match="must be defined at the top level"):
        model_type("margin.Local")(Local)
    outside = defined_in("consilience.margin._other", "Other")
    with pytest.raises(ValueError, match="not in MODULES"):
        model_type("nothing.Other")(outside)
    with pytest.raises(LookupError, match="is not the public name"):
        model_type("margin._other.Other")(outside)


def test_only_losses_are_compiled_loss_types():
    names = [kind.__name__ for kind in compiled_loss_types()]
    assert "CyHalfBinomialLoss" in names
    assert all(name.startswith("Cy") for name in names)
