"""Versions agree, the conda recipe is the project's, and workflows do only what they need."""

import doctest
import importlib.util
import re
import tomllib
from pathlib import Path

import pytest
import yaml

import mercer

ROOT = Path(__file__).parents[2]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT, BUILD = SETTINGS["project"], SETTINGS["build-system"]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
PAGES = sorted(path for folder in (".github", "conda") for path in (ROOT / folder).rglob("*.y*ml"))
#: Names on conda-forge that differ from those on PyPI.
CONDA = {"matplotlib": "matplotlib-base"}


def loaded(path):
    return yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))


def module(path):
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def requirement(text):
    """Return the name and bound of a requirement, in either spelling: 'numpy>=2', 'numpy >=2'."""
    name, bound = re.fullmatch(r"([\w-]+)(?:\[[^\]]*\])? ?(>=[\w.]+)", text).groups()
    return CONDA.get(name, name), bound


def test_the_version_is_the_same_everywhere():
    assert "version" in PROJECT["dynamic"]
    assert loaded("CITATION.cff")["version"] == mercer.__version__
    assert loaded("conda/recipe/recipe.yaml")["context"]["version"] == mercer.__version__
    literal = f'"{mercer.__version__}"'
    others = [
        path.relative_to(ROOT).as_posix()
        for folder in ("src", "docs")
        for path in (ROOT / folder).rglob("*.py")
        if literal in path.read_text(encoding="utf-8")
    ]
    assert others == ["src/mercer/version.py"]
    assert mercer.__version__ not in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_the_conda_recipe_has_the_dependencies_of_the_project():
    recipe = loaded("conda/recipe/recipe.yaml")
    needs = recipe["requirements"]
    python, *run = needs["run"]
    assert python == "python >=${{ python_min }}"
    assert f">={recipe['context']['python_min']}" == PROJECT["requires-python"]
    assert sorted(map(requirement, run)) == sorted(map(requirement, PROJECT["dependencies"]))
    extras = PROJECT["optional-dependencies"]
    optional = {
        requirement(text)
        for extra in ("files", "dask", "cli")
        for text in extras[extra]
        if not text.startswith("mercer[")
    }
    assert set(map(requirement, needs["run_constraints"])) == optional
    (build,) = BUILD["requires"]
    assert requirement(build) in map(requirement, needs["host"][2:])
    assert recipe["about"]["summary"] == PROJECT["description"]
    assert recipe["about"]["license"] == PROJECT["license"]
    (script,) = recipe["build"]["python"]["entry_points"]
    assert script == f"mercer = {PROJECT['scripts']['mercer']}"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_yaml_is_read_as_it_is_meant(path):
    """No key is there twice (YAML takes the last one silently), and none is empty."""

    class Strict(yaml.SafeLoader):
        def construct_mapping(self, node, deep=False):
            keys = [key.value for key, _ in node.value]
            assert len(keys) == len(set(keys)), f"{path}: {keys}"
            return super().construct_mapping(node, deep)

    found = yaml.load(path.read_text(encoding="utf-8"), Strict)
    assert None not in found.values()


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_may_do_only_what_it_needs(path):
    workflow = loaded(path)
    may = {
        "attest": {"id-token", "attestations"},
        "publish": {"id-token"},
        "announce": {"contents"},
    }
    assert "write" not in workflow["permissions"].values()
    for name, job in workflow["jobs"].items():
        rights = job.get("permissions", {})
        assert {what for what, level in rights.items() if level == "write"} == may.get(name, set())
        assert job["timeout-minutes"] <= 75
        for step in job["steps"]:
            if "uses" in step:
                assert re.search(r"@(v\d+|release/v\d+|[0-9a-f]{40})$", step["uses"]), step["uses"]
            # What others choose, such as the name of a branch, reaches a shell only as a variable.
            assert "${{" not in step.get("run", "")
            if step.get("uses", "").startswith("actions/checkout"):
                assert step["with"]["persist-credentials"] is False


def test_only_a_pushed_tag_is_published_and_only_after_tests():
    workflow = loaded(".github/workflows/release.yml")
    jobs = workflow["jobs"]
    order = ["build", "test", "attest", "publish", "announce"]
    assert list(jobs) == order
    assert [jobs[name]["needs"] for name in order[1:]] == order[:-1]
    assert workflow[True]["push"] == {"tags": ["v*"]}  # YAML reads the word on as true
    for name in order[2:]:
        assert jobs[name]["if"] == "github.event_name == 'push'"
    publish = jobs["publish"]["steps"][-1]
    assert publish["with"] == {"attestations": True}  # no password: the publisher is trusted


def test_every_supported_python_is_tested():
    jobs = loaded(".github/workflows/test.yml")["jobs"]
    tested = jobs["test"]["strategy"]["matrix"]["python"]
    named = [line.rsplit(" ", 1)[1] for line in PROJECT["classifiers"] if ":: Python :: 3." in line]
    assert tested == named


@pytest.mark.parametrize("path", ["hatch_build.py", ".github/scripts/release_notes.py"])
def test_examples_of_the_scripts(path):
    failed, tried = doctest.testmod(module(path))
    assert (failed, tried > 1) == (0, True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("## 0.1 (2026-01-02)\n\n- a\n", r"must have a section for 1\.0, got 0\.1"),
        ("## 1.0 (unreleased)\n\n- a\n", r"must have its date.*got '## 1\.0 \(unreleased\)'"),
        ("## 1.0 (2026-01-02)\n\n## 0.1 (2026-01-01)\n- a\n", "must say what is new in 1"),
    ],
)
def test_a_version_without_notes_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        module(".github/scripts/release_notes.py").notes(text, "1.0")


def test_a_tag_of_another_version_is_refused():
    with pytest.raises(ValueError, match=r"the tag must be v.*got v9\.9\.9"):
        module(".github/scripts/release_notes.py").main("v9.9.9")
