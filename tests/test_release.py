"""Files that repeat what pyproject.toml and the package say agree with them."""

import json
import re
import tomllib
from pathlib import Path

import pytest

import consilience

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.skipif(
    not (ROOT / "pyproject.toml").exists(),
    reason="the sources are not part of an installed package",
)


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def project():
    return tomllib.loads(read("pyproject.toml"))["project"]


def test_the_package_is_the_only_source_of_the_version(project):
    assert "version" not in project
    assert project["dynamic"] == ["version"]


@pytest.mark.parametrize(
    ("name", "pattern"),
    [
        ("CITATION.cff", r"^version: (\S+)$"),
        ("conda/meta.yaml", r'set version = "(\S+)"'),
        ("docs/project/cite.md", r"version = {(\S+)}"),
        ("CHANGELOG.md", r"^## (\d\S*)"),
    ],
)
def test_versions_agree(name, pattern):
    assert re.search(pattern, read(name), flags=re.M)[1] == consilience.__version__


def test_oldest_dependencies_are_the_declared_ones(project):
    pinned = dict(line.split("==") for line in read(".github/oldest.txt").split())
    of_tests = [entry for entry in project["optional-dependencies"]["test"] if ">=" in entry]
    declared = dict(entry.split(">=") for entry in [*project["dependencies"], *of_tests])
    assert {entry.split(">=")[0] for entry in project["dependencies"]} <= set(pinned)
    for name, version in pinned.items():
        assert f"{version}.".startswith(f"{declared[name]}."), name


def test_the_conda_recipe_has_the_dependencies(project):
    recipe = read("conda/meta.yaml")
    for entry in project["dependencies"]:
        name, version = entry.split(">=")
        assert f"- {name} >={version}" in recipe


def test_configuration_files_are_valid():
    yaml = pytest.importorskip("yaml")
    paths = [*(ROOT / ".github").rglob("*.yml"), ROOT / "CITATION.cff"]
    assert len(paths) >= 8
    assert all(yaml.safe_load(path.read_text(encoding="utf-8")) for path in paths)
    assert json.loads(read(".zenodo.json"))["license"] == "BSD-3-Clause"


def test_links_of_the_readme_are_absolute():
    links = re.findall(r"\]\(([^)\s]+)\)", read("README.md"))
    assert links
    assert [link for link in links if not link.startswith(("https://", "#"))] == []
