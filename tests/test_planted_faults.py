"""Planted faults can be planted: code that has moved takes its faults along."""

import tomllib
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
FAULTS = tomllib.loads((TESTS / "planted_faults.toml").read_text())["fault"]


@pytest.mark.parametrize("fault", FAULTS, ids=[fault["what"] for fault in FAULTS])
def test_the_text_of_a_fault_is_in_its_file_once(fault):
    path = TESTS.parent / "src" / "mercer" / fault["file"]
    assert path.exists()
    assert path.read_text().count(fault["old"]) == 1
    assert all((TESTS / name).exists() for name in fault["tests"].split())
