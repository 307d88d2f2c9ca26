"""Tables against peers: what is measured, what is kept, and what is made of it."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest
from benchmarks import __main__ as command
from benchmarks import peers, table_figures, table_fit, table_report, table_sets, tables
from benchmarks.kernel_grid import ALPHAS, FACTORS, KernelGrid
from benchmarks.peers import METHODS
from benchmarks.table_fit import Record, read
from benchmarks.table_report import BEST, Found
from benchmarks.table_sets import CLASSIFICATION, RANKING, REGRESSION, SETS, SMALL
from benchmarks.tables import Asked
from experiments.scaffold.data import AbsentError
from experiments.scaffold.json_lines import append_line
from experiments.scaffold.runner import QUIET
from experiments.scaffold.timing import ChildError

import mercer


def record(name, split, method, error, fit=1.0, **further):
    return Record(name, split, method, error, fit, 2 * fit, 0.1, "x 1.0", **further)


def real(make, *arguments):
    try:
        return make(*arguments)
    except AbsentError as error:
        pytest.skip(str(error))


def error_without_columns(kind, rows):
    values, counts = np.unique(rows.y, return_counts=True)
    always = {REGRESSION: rows.y.mean(), CLASSIFICATION: values[counts.argmax()], RANKING: 0}
    return table_fit.error_of(kind, rows, np.full(len(rows.y_test), always[kind]))


CASES = [(kind, m) for m, does in METHODS.items() for kind in does.kinds]


@pytest.mark.parametrize(
    ("kind", "method"),
    [
        pytest.param(*case, marks=() if METHODS[case[1]].package == "mercer" else pytest.mark.slow)
        for case in CASES
    ],
)
def test_every_method_learns_each_of_its_kinds(kind, method):
    if not METHODS[method].installed:
        pytest.skip(f"{METHODS[method].package} is not installed: pip install mercer[experiments]")
    found = Record(**table_fit.fit(f"small {kind}", 0, method, 0.2))
    assert found.key == (f"small {kind}", 0, method)
    assert found.error < 0.9 * error_without_columns(kind, SMALL[f"small {kind}"].rows(0))
    assert min(found.fit, found.processor, found.predict, found.threads) > 0
    assert found.version.split()[1][0].isdigit()
    assert (found.seconds is not None) == METHODS[method].timed


@pytest.mark.slow
def test_a_fit_is_made_in_a_process_of_its_own():
    found = table_fit.measure("small regression", 1, "mercer")
    assert found.error == pytest.approx(table_fit.fit("small regression", 1, "mercer")["error"])


def test_errors_are_those_of_their_kind():
    few = np.zeros((3, 1))
    rows = table_sets.Rows(few, few[:, 0], few, np.array([0, 1, 2]), qid_test=np.zeros(3))
    assert table_fit.error_of(CLASSIFICATION, rows, np.array([[0], [1], [1]])) == 1 / 3
    assert table_fit.error_of(REGRESSION, rows, [3, 1, 2]) == pytest.approx(np.sqrt(3))
    assert table_fit.error_of(RANKING, rows, [1, 2, 3]) == 0


def test_settings_that_a_version_does_not_have_are_left_out():
    model = peers.mercer({"selection": "kfold", "of_another_version": 3}, REGRESSION, 5)
    assert isinstance(model, mercer.KernelRegressor)
    assert (model.selection, model.random_state) == ("kfold", 5)
    plain = METHODS["mercer plain"].make(RANKING, 0)
    assert (plain.kernel.bandwidth, plain.selection) == ("median", "gcv")


@pytest.mark.parametrize("rows", [300, 9000])
def test_the_search_over_kernels_takes_the_best(rows):
    rng = np.random.default_rng(0)
    X = rng.random((rows + 100, 2)) * [1.0, 100.0]
    y = np.sin(6 * X[:, 0]) + X[:, 1] / 100
    model = KernelGrid(0.3, classes=False).fit(X[:rows], y[:rows])
    assert np.std(model.predict(X[rows:]) - y[rows:]) < 0.02
    assert model.gamma_ * 2 in [pytest.approx(factor) for factor in FACTORS]
    assert model.alpha_ in ALPHAS
    assert hasattr(model, "components_") == (rows > 8000)


def test_splits_have_their_sizes_and_share_no_row():
    for name, table in SMALL.items():
        one, other = table.rows(0), table.rows(1)
        assert len(one.X) + len(one.X_test) == 240, name
        assert not np.array_equal(one.X, other.X)
        assert not {tuple(x) for x in one.X} & {tuple(x) for x in one.X_test}
        assert one.X.dtype == np.float64


def test_classes_are_counted_from_zero():
    found = table_sets.prepared(
        CLASSIFICATION, np.eye(3), np.array([7, 3, 9]), np.eye(3)[:2], np.array([9, 7])
    )
    assert found.y.tolist() == [1, 0, 2]
    assert found.y_test.tolist() == [2, 1]


@pytest.mark.real
def test_official_splits_come_first():
    data = real(table_sets.load, "pendigits")
    first, second = (SETS["pendigits"].rows(split) for split in (0, 1))
    np.testing.assert_array_equal(first.X, data.X_train)
    np.testing.assert_array_equal(first.y_test, data.y_test)
    assert first.X.shape == second.X.shape
    assert not np.array_equal(first.X, second.X)


@pytest.mark.real
def test_the_columns_of_bike_that_are_left_out_add_up_to_its_target():
    data = real(table_sets.load, "bike")
    counts = data.X[:, list(table_sets.BIKE_LEAKS)].astype(float)
    total = np.round(counts - counts.min(axis=0)).sum(axis=1)  # stored without their mean
    assert np.std(np.log(total) - data.y) < 1e-4
    rows = SETS["bike"].rows(0)
    assert rows.X.shape[1] == data.X.shape[1] - 2
    assert len(rows.X) + len(rows.X_test) == len(data.X)


@pytest.mark.real
def test_queries_are_together_and_in_one_part():
    for name in ("letor_mq2008", "lightgbm_lambdarank_demo"):
        rows = real(SETS[name].rows, 0)
        assert np.all(np.diff(rows.qid) >= 0)
        assert not set(rows.qid) & set(rows.qid_test) or name != "letor_mq2008"
        sizes = METHODS["LightGBM"].further(rows)["group"]
        assert sizes.sum() == len(rows.X)


def test_the_last_record_of_a_key_counts(tmp_path):
    path = tmp_path / "records.jsonl"
    assert read(path) == {}
    first = record("a", 0, "mercer", 0.123456789)
    other = record("a", 1, "mercer", 0.2, seconds=3.0, commit="abc")
    for one in (first, other, replace(first, error=0.5)):
        append_line(path, one)
    found = read(path)
    assert found == {first.key: replace(first, error=0.5), other.key: other}
    assert json.loads(path.read_text().splitlines()[0])["error"] == 0.123457


def test_a_run_goes_on_where_it_was_interrupted(tmp_path, monkeypatch):
    path, measured = tmp_path / "records.jsonl", []

    def measure(name, split, method, seconds):
        measured.append((name, split, method))
        if method == "HistGradientBoosting":
            raise ChildError("no memory")
        return record(name, split, method, 0.5, seconds=seconds)

    monkeypatch.setattr(tables, "measure", measure)
    methods = ("mercer", "HistGradientBoosting", "kernel grid", "mercer, M = 250")
    asked = Asked(["small regression", "small classification"], methods, small=True)
    tables.measure_missing(path, asked, QUIET)
    each = ["mercer", "HistGradientBoosting", "kernel grid"]
    order = [(s, n, m) for s in (0, 1) for n in asked.sets for m in each]
    assert measured == [(name, split, method) for split, name, method in order]
    grid = read(path)["small regression", 0, "kernel grid"]
    assert grid.seconds == 1.0  # what mercer took

    measured.clear()
    tables.measure_missing(path, asked, QUIET)
    assert {method for *_, method in measured} == {
        "HistGradientBoosting"
    }  # failed, so there is no record

    measured.clear()
    again = replace(asked, only=["small regression"], splits=1, again=["mercer"])
    tables.forget(path, again)
    assert len(read(path)) == 7
    tables.measure_missing(path, replace(asked, methods=["mercer"]), QUIET)
    assert measured == [("small regression", 0, "mercer")]


def test_peers_that_are_not_installed_are_named_and_left_out(tmp_path, monkeypatch):
    gone = replace(METHODS["CatBoost"], package="package_that_nobody_has")
    monkeypatch.setitem(tables.METHODS, "CatBoost", gone)
    monkeypatch.setattr(tables, "measure", lambda *key: pytest.fail(str(key)))
    told = []
    asked = Asked(["small regression"], ["CatBoost"], small=True)
    tables.measure_missing(tmp_path / "none.jsonl", asked, tables.Progress(told.append))
    assert any(line.endswith("CatBoost: not installed") for line in told)


def test_a_search_waits_for_the_time_it_is_given(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "measure", lambda *key: pytest.fail(str(key)))
    told = []
    tables.measure_missing(
        tmp_path / "none.jsonl",
        Asked(["small regression"], ["kernel grid"], small=True, splits=1),
        tables.Progress(told.append),
    )
    assert "waits for the time of mercer" in told[-1]


def test_ratios_are_over_splits_that_both_have():
    found = Found.of(
        SMALL,
        [
            record("small regression", 0, "mercer", 1.0),
            record("small regression", 1, "mercer", 9.0),
            record("small regression", 0, "CatBoost", 2.0),
            record("small regression", 2, "CatBoost", 8.0),
            record("small regression", 0, "XGBoost", 0.5, fit=4.0),
            record("another set", 0, "mercer", 1.0),
        ],
    )
    name = "small regression"
    assert found.names(REGRESSION) == [name]
    assert found.ratio(name, "mercer", "CatBoost") == 0.5
    assert found.ratio(name, "mercer", BEST) == 2.0
    assert found.ratio(name, "mercer", "XGBoost", "fit") == 0.25
    assert found.ratio(name, "mercer", "LightGBM") is None
    assert table_report.geometric_mean([0.01, 2.0], least=0.5) == pytest.approx(1.0)


def test_the_section_shows_errors_ratios_and_times():
    records = [
        record("small regression", 0, "mercer", 1.0, fit=6.0, commit="abc1234"),
        record("small regression", 1, "mercer", 3.0, fit=6.0),
        record("small regression", 0, "CatBoost", 4.0, fit=2.0),
        record("small regression", 1, "CatBoost", 6.0, fit=2.0),
        record("small regression", 0, "mercer plain", 1.0),
        record("small ranking", 0, "mercer", 0.25),
        record("small ranking", 0, "LightGBM", 0.5, load=9.0, threads=2),
    ]
    text = "\n\n".join(map(str, table_report.section(records, SMALL, ["figures/drawn.png"])))
    assert "| small regression | 2 | **2.0000 ± 1.0000** | 1.0000 |" not in text
    assert "| small regression | 2 | 2.0000 ± 1.0000 | **1.0000** | 5.0000 ± 1.0000 |" in text
    assert "| small ranking | 1 | **0.7500** | 0.5000 |" in text
    assert "| regression, to CatBoost | 1 | 0.500 |  | 1 of 1 | 0.40 (small regression) |" in text
    assert "mercer takes 3.00 times as long as CatBoost" in text
    assert "1 of 7 fits" in text
    assert "| small regression | 6.0 | 1.0 | 2.0 | - |" in text
    assert "![Error against time](figures/drawn.png)" in text
    assert "x 1.0 (abc1234)" in text


def test_the_picture_has_a_panel_for_each_set_with_records(tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(table_figures.figures, "save", lambda figure, path: drawn.append(figure))
    sizes = [record("letter", 0, m, 0.1 / (i + 1), i + 1) for i, m in enumerate(peers.SIZES)]
    trees = [record("letter", split, "CatBoost", 0.05) for split in (0, 1)]
    found = table_figures.draw([*sizes, *trees], tmp_path, tables.PICTURED)
    assert found == [f"{tmp_path.name}/{table_figures.NAME}"]
    (figure,) = drawn
    (axes,) = figure.axes
    assert axes.get_title(loc="left") == "letter"
    line, point = axes.get_lines()
    assert len(line.get_xdata()) == len(peers.SIZES)
    assert list(point.get_ydata()) == [0.05]
    assert table_figures.draw([], tmp_path, tables.PICTURED) == []


def test_a_small_run_is_printed_and_written(tmp_path, monkeypatch, capsys):
    measured = []

    def measure(name, split, method, seconds):
        measured.append(method)
        return record(name, split, method, 0.5)

    monkeypatch.setattr(tables, "measure", measure)
    monkeypatch.setattr(table_figures.figures, "save", lambda figure, path: None)
    out = tmp_path / "tables.md"
    asked = ["tables", "--small", "--splits", "1", "--methods", "mercer", "--out", str(out)]
    command.main(asked)
    assert measured == ["mercer"] * 3
    assert out.read_text().startswith("## All defaults on raw tables\n")
    assert out.read_text() in capsys.readouterr().out
    command.main([*asked, "--draw"])
    assert len(measured) == 3
    assert out.read_text().endswith("Measured with nothing yet.\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tables", "--only", "letters"], "unknown name 'letters'"),
        (["tables", "--methods", "catboost"], "unknown name 'catboost'"),
        (["tables", "--again", "Mercer"], "unknown name 'Mercer'"),
        (["speed", "--splits", "2"], "go with tables"),
        (["speed", "--small"], "--small goes with --against, or with tables alone"),
    ],
)
def test_misfits_are_refused_in_words(arguments, message, capsys):
    with pytest.raises(SystemExit):
        command.main(arguments)
    assert message in capsys.readouterr().err


def test_records_that_are_kept_belong_to_known_sets_and_methods():
    found = read(tables.RECORDS)
    assert found
    for name, split, method in found:
        assert split < SETS[name].splits
        assert SETS[name].kind in table_fit.ALL_METHODS[method].kinds
    for one in found.values():
        assert np.isfinite(one.error)
        assert one.fit > 0
        assert one.version


def test_the_child_answers_with_a_record(monkeypatch, capsys):
    settings = {"name": "small ranking", "split": 0, "method": "mercer"}
    monkeypatch.setattr(sys, "argv", ["table_fit", "fit", json.dumps(settings)])
    table_fit.answer({"fit": table_fit.fit})
    found = Record(**json.loads(capsys.readouterr().out.splitlines()[-1]))
    assert found.version == f"mercer {mercer.__version__}"
