"""The wheel and the source distribution: what is in them, and that they install and work."""

import email.parser
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import urllib.request
import venv
import zipfile
from pathlib import Path

import pytest

import mercer
from shard_cases import environment

ROOT = Path(__file__).parents[2]
SCRIPT = Path(__file__).with_name("without_extras.py")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ADDRESS = "https://example.org/owner/name"
#: On small matrices, other threads only wait.
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}


def run(*command, **options):
    """Run Python in a process; return what it printed, also where it failed."""
    done = subprocess.run(
        [sys.executable, *map(str, command)], capture_output=True, encoding="utf-8", **options
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def build(folder, address, *options):
    """Build both, the wheel from what is in the source distribution; or what options say."""
    surroundings = {k: v for k, v in os.environ.items() if k != "MERCER_REPOSITORY"}
    if address:
        surroundings["MERCER_REPOSITORY"] = address
    command = ("-m", "build", "--no-isolation", *options, "--outdir", folder, ROOT)
    run(*command, env=surroundings)
    return sorted(folder.iterdir(), key=lambda file: file.suffix, reverse=True)  # the wheel first


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    return build(tmp_path_factory.mktemp("dist"), ADDRESS)


@pytest.fixture(scope="module")
def nameless(tmp_path_factory):
    """A wheel of a build that does not know the address of the repository."""
    return build(tmp_path_factory.mktemp("nameless"), "", "--wheel")[0]


def metadata(wheel):
    with zipfile.ZipFile(wheel) as file:
        (name,) = [n for n in file.namelist() if n.endswith(".dist-info/METADATA")]
        return email.parser.Parser().parsestr(file.read(name).decode())


def test_they_pass_twine(built, nameless):
    told = run("-m", "twine", "--no-color", "check", "--strict", *built, nameless)
    assert told.count("PASSED") == 3


def test_the_wheel_is_the_package_and_nothing_else(built):
    package = Path(mercer.__file__).parent
    ours = {
        f"mercer/{path.relative_to(package).as_posix()}"
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {"mercer/py.typed", "mercer/datasets/letter.npz", "mercer/datasets/LETTER.md"} <= ours
    with zipfile.ZipFile(built[0]) as file:
        files = {name for name in file.namelist() if ".dist-info/" not in name}
        about = {name.split("/", 1)[1] for name in file.namelist() if ".dist-info/" in name}
    assert files == ours
    assert about == {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"}


def test_the_source_has_what_its_tests_need(built):
    with tarfile.open(built[1]) as file:
        names = {name.split("/", 1)[1] for name in file.getnames()}
    assert {"pyproject.toml", "hatch_build.py", "README.md", "LICENSE", "Makefile"} <= names
    assert {"CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "SECURITY.md"} <= names
    assert {"conda/recipe/recipe.yaml", ".github/workflows/release.yml"} <= names
    for folder in ("src", "tests", "docs", "benchmarks", "experiments"):
        ours = {
            path.relative_to(ROOT).as_posix()
            for path in (ROOT / folder).rglob("*.py")
            if "_build" not in path.parts
        }
        assert ours <= names, folder
    assert not [name for name in names if re.search(r"__pycache__|\.venv|/_build/|\.pyc$", name)]
    assert built[1].stat().st_size < 10_000_000  # most of it are figures of experiments


def test_metadata(built):
    found = metadata(built[0])
    assert found["Version"] == mercer.__version__
    assert found["Requires-Python"] == PROJECT["requires-python"]
    assert found["License-Expression"] == "BSD-3-Clause"
    always = {line for line in found.get_all("Requires-Dist") if "extra ==" not in line}
    assert always == set(PROJECT["dependencies"])
    supported = [f"Programming Language :: Python :: 3.{minor}" for minor in (11, 12, 13, 14)]
    assert {*supported, "Typing :: Typed"} <= set(found.get_all("Classifier"))


@pytest.mark.skipif(
    (ROOT / "PKG-INFO").is_file(), reason="a source distribution has its page already"
)
def test_links_of_the_project_page_lead_somewhere(built, nameless):
    target = re.compile(r"\]\(([^)]+)\)")
    without, page = metadata(nameless), metadata(built[0])
    assert without.get_all("Project-URL") is None
    assert f"Source, {ADDRESS}" in page.get_all("Project-URL")
    for text in (without.get_payload(), page.get_payload()):
        assert all(link.startswith("https://") for link in target.findall(text))
        assert "# Mercer" in text
    assert f"{ADDRESS}/raw/v{mercer.__version__}/docs/_static/overview.png" in page.get_payload()
    ours = re.findall(rf"\]\({ADDRESS}/\w+/v{mercer.__version__}/([^)]+)\)", page.get_payload())
    assert len(ours) > 10
    for path in ours:
        assert (ROOT / path).is_file(), path


def test_an_address_that_is_none_is_refused(tmp_path):
    with pytest.raises(AssertionError, match=r"must be the address.*got 'mercer'"):
        build(tmp_path, "mercer", "--wheel")


def test_without_extras_in_this_environment():
    told = run(SCRIPT, "--refuse", env=environment() | ONE_THREAD)
    assert told == f"mercer {mercer.__version__} works without extras\n"


def index_answers():
    """Whether pip's index can be reached: the tests run without a network as well."""
    try:
        with urllib.request.urlopen("https://pypi.org/simple/threadpoolctl/", timeout=10):
            return True
    except OSError:
        return False


@pytest.mark.slow
@pytest.mark.parametrize("kind", [0, 1], ids=["wheel", "source"])
def test_it_installs_into_an_empty_environment(kind, built, tmp_path):
    """Downloads NumPy, SciPy and scikit-learn; from the source, also what builds it."""
    if not index_answers():
        pytest.skip("the package index cannot be reached: nothing can be installed")
    venv.create(tmp_path / "empty", with_pip=True)
    (binaries,) = [d for d in (tmp_path / "empty").iterdir() if d.name in ("bin", "Scripts")]
    python = binaries / ("python.exe" if os.name == "nt" else "python")
    clean = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    options = {
        "env": clean | ONE_THREAD,
        "cwd": tmp_path,
        "capture_output": True,
        "encoding": "utf-8",
    }
    subprocess.run([python, "-m", "pip", "install", "-q", built[kind]], check=True, **options)
    subprocess.run([python, "-m", "pip", "check"], check=True, **options)
    done = subprocess.run([python, SCRIPT], check=False, **options)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"mercer {mercer.__version__} works without extras\n"
    # The command is there, and says what it needs.
    command = subprocess.run([binaries / "mercer", "--version"], check=False, **options)
    assert command.returncode == 1
    assert "mercer[cli]" in command.stderr
