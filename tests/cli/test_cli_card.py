"""``mercer card`` on the command line."""

from pathlib import Path

import pytest
from tests.cli.house_tables import QUICK, houses

from mercer import load, model_card, save


@pytest.fixture
def fitted(run):
    """A model of a table, and rows that it has not seen."""
    table = houses()
    table[:110].to_csv("train.csv", index=False)
    table[110:].drop(columns="code").to_csv("test.csv", index=False)
    found = run("fit", "train.csv", "--target", "price", "--exclude", "amount", *QUICK,
                "--out", "houses")  # fmt: skip
    assert found.exit_code == 0, found.output


def test_card_is_printed_or_written(run, fitted):
    printed = run("card", "houses")
    assert printed.exit_code == 0, printed.output
    assert printed.stdout == model_card("houses.mercer")
    assert printed.stdout.startswith("# Model card: houses\n")
    assert "predicts **price**" in printed.stdout
    assert run("card", "houses", "--out", "card.md").exit_code == 0
    assert Path("card.md").read_text(encoding="utf-8") == printed.stdout


def test_card_of_rows_of_a_file_knows_the_target_of_the_fit(run, fitted):
    found = run("card", "houses", "--data", "test.csv")
    assert found.exit_code == 0, found.output
    assert "### On new rows\n\nOn 40 rows that were given:" in found.stdout
    assert "| RMSE |" in found.stdout
    stdin = Path("test.csv").read_text()
    assert run("card", "houses", "--data", "-", stdin=stdin).stdout == found.stdout


def test_an_existing_file_is_replaced_only_with_force(run, fitted):
    Path("card.md").write_text("mine")
    refused = run("card", "houses", "--out", "card.md")
    assert refused.exit_code == 2
    assert "--force" in refused.stderr
    assert Path("card.md").read_text() == "mine"
    assert run("card", "houses", "--out", "card.md", "--force").exit_code == 0
    assert Path("card.md").read_text().startswith("# Model card")


def test_what_is_wrong_is_one_line(run, fitted):
    for arguments, words in (
        (("card", "nothing"), "there is no such file"),
        (("card", "houses", "--target", "price"), "which is missing"),
        (("card", "houses", "--out", "card.txt"), "the extension of --out"),
        (("card", "houses", "--data", "test.csv", "--query", "zip"), "--query needs a ranker"),
        (("card", "houses", "--data", "test.csv", "--target", "cost"), "no target column 'cost'"),
    ):
        found = run(*arguments)
        assert found.exit_code == 2
        assert words in found.stderr
        assert found.stderr.startswith("error: ")
        assert found.stderr.count("\n") == 1
    model = load("houses")
    model._notes = {}
    save(model, "unnamed")
    found = run("card", "unnamed", "--data", "test.csv")
    assert "name that of test.csv with --target" in found.stderr
