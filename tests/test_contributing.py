"""CONTRIBUTING's map is the tree, and its worked examples run."""

import importlib
import re
import sys
from pathlib import Path

import pytest

import mercer
from mercer.estimators.parameters import PARAMETERS

PAGE = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
PACKAGE = Path(mercer.__file__).parent
KINDS = ["kernel", "basis", "solver", "combination", "source", "parameter"]
#: Lines of Python that a worked example may have.
LINES = 40


def section(title):
    """Return the text of a section, up to the next of its level or above."""
    level = len(title) - len(title.lstrip("#"))
    rest = PAGE.split(f"{title}\n", 1)[1]
    return re.split(rf"^#{{1,{level}}} ", rest, maxsplit=1, flags=re.M)[0]


def example(kind):
    """Return the Python of the section on how to add a part."""
    (block,) = re.findall(r"```python\n(.*?)```", section(f"### How to add a {kind}"), re.S)
    return block


def test_the_map_is_the_tree():
    listed = re.findall(r"^\| `([^`]+)` \|", section("## The formula is the folder tree"), re.M)
    assert len(listed) == len(set(listed))
    folders = {f"{path.parent.name}/" for path in PACKAGE.glob("*/__init__.py")}
    modules = {path.name for path in PACKAGE.glob("*.py")}
    assert set(listed) == folders | modules


@pytest.mark.parametrize("kind", KINDS)
def test_a_worked_example_is_short_and_runs(kind, tmp_path, monkeypatch):
    code = example(kind)
    assert len(code.splitlines()) < LINES
    assert f"check_{kind}(" in code
    # A module that can be imported, so that what it defines can be pickled.
    name = f"contributed_{kind}"
    (tmp_path / f"{name}.py").write_text(code, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, name, raising=False)
    known = dict(PARAMETERS)
    importlib.import_module(name)
    for added in PARAMETERS.keys() - known.keys():
        del PARAMETERS[added]


def test_the_reading_path_exists_and_is_short():
    path = re.findall(r"^\d\. `([^`]+)`:", section("## Read these seven files first"), re.M)
    assert len(path) == 7
    lines = sum(len((PACKAGE / name).read_text(encoding="utf-8").splitlines()) for name in path)
    assert lines < 1600
