"""``mercer label --sampling variance``: a sheet with weights of 1, further rounds, and a fit."""

import json
from pathlib import Path

import numpy as np
import pytest
from tests.cli.label_sheets import FEATURES, OPTIONS, files, fill_in, read

from mercer import ImportanceLabeller, KernelRegressor, load
from mercer.labelling import draw_again, join, read_sheet, write_sheet
from mercer.labelling.label_pool import LabelPool


def by_variance(frame, how="variance", rounds=(40,)):
    settings = {"budget": rounds[0], "sampling": how, "random_state": 3}
    found = ImportanceLabeller(**settings).fit(frame[FEATURES])
    for number in rounds[1:]:
        found.select(number)
    return found


@pytest.mark.parametrize("how", ["variance", "random_variance"])
def test_the_whole_way_round(how, run, csv, frame):
    result = run("label", csv, *OPTIONS, "--sampling", how, "--out", "first.csv")
    assert result.exit_code == 0, result.output
    wanted, sheet = by_variance(frame, how), read("first.csv")
    assert sheet.row.tolist() == wanted.indices_.tolist()
    assert set(sheet.weight) == set(sheet.draws) == {1}
    shown = " ".join(result.stdout.split())
    assert "weights all 1 " in shown
    most, least = wanted.variance_.max(), wanted.variance_.min()
    assert f"variance when drawn {most:.3g} to {least:.3g} " in shown
    assert "effective sample size" not in result.stdout
    record = json.loads(Path("first.json").read_text(encoding="utf-8"))
    assert record["settings"]["sampling"] == how

    # A further round goes on from the rows that are labelled, by the same rule.
    fill_in("first.csv", frame, "price")
    result = run("label", csv, "--more", "first.csv", "--budget", 25, "--out", "second.csv")
    assert result.exit_code == 0, result.output
    assert "65 in 2 rounds: 40, 25" in result.stdout
    assert "65, of which 40 are labelled already" in result.stdout
    wanted = by_variance(frame, how, (40, 25))
    assert read("second.csv").row.tolist() == wanted.indices_.tolist()

    fill_in("second.csv", frame, "price")
    result = run("fit", csv, "--labels", "second.csv", "--out", "model", "--seed", 5)
    assert result.exit_code == 0, result.output
    rows = frame.iloc[wanted.indices_]
    expected = KernelRegressor(random_state=5).fit(rows[FEATURES], rows.price)
    model = load("model")
    assert model.fit_.total_weight == 65
    np.testing.assert_allclose(
        model.predict(frame[FEATURES]), expected.predict(frame[FEATURES]), rtol=1e-9, atol=1e-9
    )


def test_what_is_refused(run, csv):
    result = run("label", csv, *OPTIONS, "--sampling", "variances", "--out", "sheet.csv")
    assert result.exit_code == 2
    assert "unknown sampling 'variances'" in result.stderr
    run("label", csv, *OPTIONS, "--out", "leverage.csv")
    run("label", csv, *OPTIONS, "--sampling", "variance", "--out", "variance.csv")
    before = files()
    for sheet, other, own in (
        ("leverage.csv", "variance", "leverage"),
        ("variance.csv", "leverage", "variance"),
    ):
        more = ("--more", sheet, "--budget", 5, "--out", "more.csv", "--sampling", other)
        result = run("label", csv, *more)
        assert result.exit_code == 2
        assert f"--sampling must be that of {sheet}, '{own}', got '{other}'" in result.stderr
    result = run("label", csv, "--more", "variance.csv", "--budget", 81, "--out", "more.csv")
    assert result.exit_code == 2
    assert "budget must be at most the 80 rows of the pool that have no label" in result.stderr
    assert files() == before
    again = ("--more", "leverage.csv", "--budget", 5, "--out", "more.csv", "--sampling", "leverage")
    assert run("label", csv, *again).exit_code == 0


def test_sheets_in_python(frame, tmp_path):
    pool = LabelPool(frame, FEATURES)
    found = by_variance(frame)
    sheet = write_sheet(found, pool, tmp_path / "sheet.csv")
    again = draw_again(
        ImportanceLabeller(sampling="variance", random_state=3), pool, read_sheet("sheet.csv")
    )
    np.testing.assert_array_equal(again.select(7), found.select(7))
    sheet.with_labels({row: frame.price[row] for row in sheet.drawn.rows}).save("labelled.csv")
    _, y, weight = join(pool, read_sheet("labelled.csv"))
    np.testing.assert_array_equal(weight, np.ones(40))
    np.testing.assert_array_equal(y, frame.price[sheet.drawn.rows])
