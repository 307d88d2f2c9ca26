"""Plant small faults one by one, and see that the suite catches each.

Run by hand::

    python tests/planted_faults.py            # all faults, each with the tests that should catch it
    python tests/planted_faults.py kernels    # those whose file or description has the word
    python tests/planted_faults.py --suite    # with the whole suite, which takes long

The faults are in ``planted_faults.toml``. ``src/`` is copied to a temporary folder, and they are
planted in the copy: the tree itself is never touched. It ends with 1 if a fault is missed, or if
its text is not in its file exactly once.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
#: Seconds after which a run counts as caught: the fault has made it endless.
LIMIT = 600


class Fault(NamedTuple):
    """In ``file`` of the package, ``old`` becomes ``new``; ``tests`` should say so."""

    what: str
    file: str
    old: str
    new: str
    tests: str


def python(source: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python with the package from a copy of src/; no compiled file outlives a fault."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )


def first_failure(source: Path, targets: list[str]) -> str:
    """Run tests up to the first that fails; return its name, or "" if none does."""
    options = ("-x", "-q", "-p", "no:cacheprovider", "--tb=no", "-rfE")
    try:
        run = python(source, "-m", "pytest", *options, *targets)
    except subprocess.TimeoutExpired:
        return f"the limit of {LIMIT} s"
    if run.returncode == 0:
        return ""
    failed = [line for line in run.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    if run.returncode != 1 or not failed:
        raise RuntimeError(f"the tests did not run:\n{run.stdout}{run.stderr}")
    return failed[0].split(" - ")[0].split(" ", 1)[1]


def checked(fault: Fault, source: Path, suite: bool) -> tuple[str, bool]:
    """Plant a fault, run its tests, take it out again; return what to say, and if it is well."""
    path = source / "mercer" / fault.file
    text = path.read_text() if path.exists() else ""
    if text.count(fault.old) != 1:
        return f"NOT PLANTED: {fault.old!r} is there {text.count(fault.old)} times, not once", False
    path.write_text(text.replace(fault.old, fault.new))
    try:
        found = first_failure(source, [] if suite else [f"tests/{t}" for t in fault.tests.split()])
    finally:
        path.write_text(text)
    return (found, True) if found else (f"MISSED by {'the suite' if suite else fault.tests}", False)


def main() -> int:
    """Print a table of faults and of the tests that caught them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("word", nargs="?", default="", help="only faults whose text has this word")
    parser.add_argument("--suite", action="store_true", help="run the whole suite for each")
    given = parser.parse_args()
    table = tomllib.loads((ROOT / "tests" / "planted_faults.toml").read_text())["fault"]
    faults = [Fault(**row) for row in table]
    faults = [fault for fault in faults if given.word in f"{fault.file} {fault.what}"]
    well = 0
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "src")
        shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__"))
        imported = python(source, "-c", "import mercer; print(mercer.__file__)").stdout.strip()
        if not Path(imported).is_relative_to(source):
            raise RuntimeError(f"the tests would import {imported}, not the copy in {source}")
        for fault in faults:
            said, good = checked(fault, source, given.suite)
            well += good
            print(f"{fault.file:28} {fault.what:56} {said}", flush=True)
    print(f"{well} of {len(faults)} faults were caught")
    return 0 if well == len(faults) else 1


if __name__ == "__main__":
    sys.exit(main())
