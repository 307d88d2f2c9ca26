"""``mercer plan``: tables, a picture and JSON, and nothing is fitted or written over."""

import json
from pathlib import Path

import pytest
from tests.cli.house_tables import houses

QUICK = ("--kernel", "gaussian", "--metric", "none", "--scale", "standard")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("plans") / "houses.csv"
    houses(500).drop(columns=["price", "code"]).to_csv(path, index=False)
    return path


def test_a_plan_is_shown_and_drawn(run, table):
    options = ("--rows", "1e7", "--workers", "50", "--plot", "plan.png", "--statements")
    result = run("plan", table, "--target", "amount", *QUICK, *options)
    assert result.exit_code == 0, result.output
    for shown in (
        "10,000,000 of",
        "capacity gamma",
        "recommended",
        "What to expect",
        "50 workers",
        "KRR-Nystroem",
        "M by theorem",
        "Li, Liu and Wang (2023), theorem 11",
    ):
        assert shown in result.stdout
    assert "50 workers as fast as this machine, 125 MB per second between them" in result.stderr
    assert "picture written to plan.png" in result.stderr
    assert sorted(path.name for path in Path().iterdir()) == ["plan.png"]
    assert Path("plan.png").read_bytes().startswith(b"\x89PNG")


def test_json_has_the_same_figures(run, table):
    result = run("plan", table, "--target", "kind", *QUICK, "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["task"] == "classification"
    assert found["n_rows"] == 500
    assert {one["name"] for one in found["systems"]} >= {"KRR", "DNystroem", "this estimator"}
    assert found["recommended"] in {one["name"] for one in found["systems"]}
    assert set(found["exponents"]["gamma"]) == {"value", "low", "high"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "a plan needs targets: name the column"),
        (("--target", "amount", "--rows", "0"), "--rows must be a finite number at least 1"),
        (("--target", "amount", "--workers", "0"), "workers must be at least 1"),
        (("--target", "amount", "--network", "slow"), "must be a number of bytes"),
        (("--target", "amount", "--plot", "plan.txt"), "the extension of --plot"),
    ],
)
def test_bad_options_are_one_line(run, table, options, message):
    result = run("plan", table, *options, *QUICK)
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.output


def test_too_few_rows_are_refused(run):
    houses(100).drop(columns=["price", "code"]).to_csv("few.csv", index=False)
    result = run("plan", "few.csv", "--target", "amount", *QUICK)
    assert result.exit_code == 2
    assert "a plan needs at least 320 rows with labels" in result.stderr
