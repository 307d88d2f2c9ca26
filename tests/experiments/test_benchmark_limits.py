"""The benchmarks of predictions, very many columns, slopes and limits, with very few rows."""

import json

import numpy as np
import pytest
from benchmarks import data, linear, predict, roofline, wide_data
from benchmarks.against import seconds_text


def test_a_slope_is_that_of_a_power():
    rows = np.array(linear.ROWS)
    assert linear.slope(rows, 1e-6 * rows**1.5) == pytest.approx(1.5)


def test_the_report_of_a_record_of_fits():
    bytes_of = {"own": 4e7, "peak": 3e8, "before": 2e8}
    times = {"seconds": 1e-5, "predict": 1e-6, "processor": 2e-5, "predict processor": 2e-6}
    fits = [
        {"rows": n, **{key: n * each for key, each in times.items()}, **bytes_of}
        for n in linear.ROWS
    ]
    record = {"columns": 20, "landmarks": 500, "limit": "400MB", "fits": fits}
    _, table, slopes = linear.report(json.loads(json.dumps(record)))
    assert "| 1,600,000 | 16.00 s | 10.0 s | 1.60 s | 40 MB | 100 MB |" in str(table)
    assert "is 1.00 for fits (1.00 over the last three) and 1.00 for predictions" in slopes


def test_the_committed_record_has_all_sizes():
    record = json.loads(linear.RECORD.read_text(encoding="utf-8"))
    assert tuple(one["rows"] for one in record["fits"]) == linear.ROWS
    linear.report(record)


@pytest.mark.parametrize("kind", wide_data.KINDS)
def test_wide_rows_are_as_far_apart_as_they_say(kind):
    X, y, distance = wide_data.wide_rows(kind, 40, 2000)
    rows = X if kind == "dense" else X.toarray()
    assert rows.dtype == np.float32
    assert len(y) == len(rows) == 40
    found = np.linalg.norm(rows[:20] - rows[20:], axis=1)
    assert np.median(found) == pytest.approx(distance, rel=0.2)


def test_the_limits_are_written_for_the_documentation(tmp_path, monkeypatch):
    monkeypatch.setattr(roofline, "best", lambda call: (call(), 1.0)[1])
    monkeypatch.setattr(roofline, "measured_rates", lambda: roofline.Rates(1e9, 1e8, 1e7, 1e9))
    page = tmp_path / "roofline.md"
    roofline.run(((600, 20),), page)
    text = page.read_text(encoding="utf-8")
    assert "| sum H'H | 1.00 s |" in text
    assert "| SYRK, float32 | 1 G multiply-adds a second |" in text
    assert "| predict as many rows | 1.00 s |  | 0.00 s | 0% | exp |" in text


def test_rates_are_the_larger_of_two_measurements():
    one, other = roofline.Rates(1.0, 5.0, 1.0, 9.0), roofline.Rates(2.0, 4.0, 3.0, 8.0)
    assert one.fastest(other) == roofline.Rates(2.0, 5.0, 3.0, 9.0)
    assert one.evaluate(10.0, 3) == pytest.approx(10 * (5 / 1.0 + 1 / 5.0))


@pytest.mark.slow
def test_predictions_are_compared_with_few_rows(monkeypatch):
    for name, value in {"ROWS": 300, "NEW": 20, "LANDMARKS": 30, "EXACT_ROWS": 30}.items():
        monkeypatch.setattr(predict, name, value)
    monkeypatch.setattr(predict, "TIMES", 1)
    about, table, told = predict.run(1)
    assert str(table).count("mercer") == 6
    assert "Gaussian float64" in told
    assert ("XGBoost is not installed" in about) == ("XGBoost" not in str(table))


def test_seconds_are_written_in_the_unit_that_shows_them():
    assert (seconds_text(1.5), seconds_text(0.00031)) == ("1.500 s", "0.310 ms")


def test_classes_of_equal_size():
    assert np.bincount(data.lettered(np.random.default_rng(0).random(260))).tolist() == [10] * 26
