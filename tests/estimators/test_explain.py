"""Explanations against differences of predictions, in the units of the user's table."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import mercer.explain.explaining as explaining
from explain_cases import ROWS, X, Y, assert_slopes, houses, slopes, steps_of
from mercer import (
    Gaussian,
    KernelClassifier,
    KernelRanker,
    KernelRegressor,
    Landmarks,
    LaplacianL1,
    Matern,
    RandomFeatures,
    Sobolev,
    TableEncoder,
    load,
    save,
)
from mercer.explain.explained_function import ExplainedFunction
from real_data import real


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module", params=["standard", "quantile"])
def table(request):
    frame, y = houses()
    model = KernelRegressor(
        Matern(2.5, "median"),
        metric=None,
        scale=request.param,
        columns=TableEncoder({"zip": "target"}, smooth=10.0),  # y says nothing of it: all alike
        random_state=0,
    ).fit(frame, y)
    # Off the rows of the fit, whose values are knots of the quantiles.
    moved = pd.to_timedelta(np.where(frame["sold"].isna(), 0, 7), unit="min")
    frame = frame.assign(size=frame["size"] + 1e-3, sold=frame["sold"] + moved)
    return model, frame[:60]


def test_numbers_of_a_table(table):
    model, frame = table
    found = model.explain(frame)
    at, known = found.names.index("size"), frame["size"].notna().to_numpy()
    spread = found.spread[at]

    def moved(by):
        return model.predict(frame.assign(size=frame["size"] + by))

    slope = (moved(1e-5) - moved(-1e-5)) / 2e-5
    np.testing.assert_allclose(found.derivative[known, at], slope[known], rtol=1e-4, atol=1e-6)
    step = moved(spread / 2) - moved(-spread / 2)
    np.testing.assert_allclose(found.effect[known, at], step[known], atol=1e-9)
    # At a gap there is nothing to move: what is reported is that it is one.
    assert np.isnan(found.derivative[~known, at]).all()
    fill = model.columns_.encoding_.encoders[at].fill
    filled = model.predict(frame.assign(size=frame["size"].fillna(fill)))
    change = filled - model.predict(frame)
    np.testing.assert_allclose(found.effect[~known, at], change[~known], atol=1e-9)
    assert np.abs(change[~known]).max() > 1e-3


def test_numbers_written_as_text(table):
    model, frame = table
    at = list(frame.columns).index("price")
    numbers = frame["price"].str.replace("[$,]", "", regex=True).astype(float) + 0.002

    def moved(by):
        return model.predict(frame.assign(price=[f"${value:,.6f}" for value in numbers + by]))

    found = model.explain(frame.assign(price=[f"${value:,.6f}" for value in numbers]))
    slope = (moved(1e-3) - moved(-1e-3)) / 2e-3
    np.testing.assert_allclose(found.derivative[:, at], slope, rtol=1e-4, atol=1e-8)


def test_dates_of_a_table(table):
    model, frame = table
    found = model.explain(frame)
    at, known = found.names.index("sold"), frame["sold"].notna().to_numpy()
    step = pd.Timedelta(seconds=10)

    def moved(by):
        return model.predict(frame.assign(sold=frame["sold"] + by))

    slope = (moved(step) - moved(-step)) / (2 * step / pd.Timedelta(days=1))
    np.testing.assert_allclose(found.derivative[known, at], slope[known], rtol=1e-4, atol=1e-6)
    assert np.isnan(found.derivative[~known, at]).all()
    assert model.columns_.encoding_.encoders[at].cycles
    assert not found.signed[at]
    # The effect is a spread over dates around that of the row.
    days = found.spread[at] * np.sqrt(3) * np.linspace(-1, 1, 401)
    around = [moved(pd.Timedelta(days=day)) for day in days]
    expected = np.std(around, axis=0)[known]
    assert np.abs(found.effect[known, at] - expected).max() < 0.25 * expected.mean()


@pytest.mark.parametrize("name", ["color", "zip", "grade"])
def test_levels_of_a_table(table, name):
    model, frame = table
    found = model.explain(frame)
    labels, changes = found.levels[name]
    values = []
    for at, label in enumerate(labels):
        column = [label] * len(frame)
        if name == "grade":
            column = pd.Categorical(column, ["low", "mid", "high"], ordered=True)
        values.append(model.predict(frame.assign(**{name: column})))
        np.testing.assert_allclose(
            changes[:, at], values[-1] - model.predict(frame), atol=1e-9, err_msg=label
        )
    own = frame[name].astype(object).to_numpy()
    for row in np.flatnonzero([value in labels for value in own]):
        assert changes[row, labels.index(own[row])] == pytest.approx(0, abs=1e-12)
    place = found.names.index(name)
    assert np.isnan(found.derivative[:, place]).all()
    assert not found.signed[place]
    if name == "zip":
        assert len(labels) == 20  # of 60, from the lowest mean of y to the highest
        means = model.columns_.encoding_.encoders[place].values[:-1, 0]
        ends = [model.columns_.encoding_.encoders[place].levels[at] for at in np.argsort(means)]
        assert [labels[0], labels[-1]] == [ends[0], ends[-1]]
        np.testing.assert_allclose(found.effect[:, place], np.std(values, axis=0))


def test_levels_count_by_their_share_of_the_rows():
    frame, y = houses()
    model = KernelRegressor(metric=None, kernel="gaussian", scale="standard").fit(frame, y)
    found = model.explain(frame[:5])
    labels, changes = found.levels["color"]
    filled = frame["color"].fillna("red")  # the most frequent level
    shares = np.array([(filled == label).mean() for label in labels])
    center = changes @ shares
    expected = np.sqrt(((changes - center[:, None]) ** 2) @ shares)
    np.testing.assert_allclose(found.effect[:, found.names.index("color")], expected)


def test_a_column_that_was_left_out_does_nothing(table):
    model, frame = table
    found = model.explain(frame)
    at = found.names.index("same")
    assert found.kinds[at] == "dropped"
    assert not found.effect[:, at].any()
    assert found.order[-1] == at


def test_categories_without_known_levels():
    frame, y = houses()
    types = {"zip": "hash", "same": "drop"}
    model = KernelRegressor("gaussian", columns=TableEncoder(types), random_state=0).fit(frame, y)
    labels, changes = model.explain(frame[:8]).levels["zip"]
    assert labels == sorted(set(frame["zip"][:8]))
    other = model.predict(frame[:8].assign(zip=labels[0])) - model.predict(frame[:8])
    np.testing.assert_allclose(changes[:, 0], other, atol=1e-5)


def test_arrays_with_gaps_and_sparse_rows():
    gaps = X.copy()
    gaps[::7, 1] = np.nan
    model = KernelRegressor("gaussian", metric=None, scale="standard").fit(gaps, Y)
    found = model.explain(gaps[:20])
    assert np.isnan(found.derivative[::7, 1]).all()
    assert not np.isnan(found.effect).any()
    rows = sparse.csr_array(np.where(np.abs(X) > 0.5, X, 0.0))
    model = KernelRegressor("gaussian", metric=None, scale=None).fit(rows, Y)
    found, same = model.explain(rows[:10]), model.explain(rows[:10].toarray())
    np.testing.assert_allclose(found.derivative, same.derivative)
    np.testing.assert_allclose(found.effect, same.effect)


def test_steps_are_for_the_columns_that_matter_most(monkeypatch):
    frame, y = houses()
    model = KernelRegressor("gaussian", random_state=0).fit(frame, y)
    whole, names = model.explain(frame[:20]), list(frame)
    monkeypatch.setattr(explaining, "STEPPED", 2)
    found = model.explain(frame[:20])
    np.testing.assert_allclose(found.derivative, whole.derivative)
    same = [name for at, name in enumerate(names) if (found.effect == whole.effect)[:, at].all()]
    assert len(same) >= 2
    for at, name in enumerate(names):
        if name not in same and found.kinds[at] == "number":
            known = ~np.isnan(found.derivative[:, at])
            tangent = found.derivative[:, at] * found.spread[at]
            np.testing.assert_allclose(found.effect[known, at], tangent[known])


def test_thousands_of_sparse_columns_take_seconds():
    rng = np.random.default_rng(0)
    wide = sparse.random_array((300, 8000), density=0.01, rng=rng, format="csr")
    how = {"metric": None, "alpha": 1e-3, "random_state": 0}
    model = KernelRegressor("gaussian", Landmarks(100), **how).fit(wide, wide[:, :9].sum(axis=1))
    calls = []
    plain = ExplainedFunction.values
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ExplainedFunction, "values", lambda f, U: calls.append(len(U)) or plain(f, U))
        model.explain(wide[:3])
    assert sum(map(bool, calls)) <= 2 * explaining.STEPPED + 1


def test_files_and_saved_models(tmp_path):
    frame, y = houses()
    model = KernelRegressor("gaussian", random_state=0).fit(frame, y)
    frame.drop(columns="same").to_csv(tmp_path / "rows.csv", index=False)
    save(model, tmp_path / "model.mercer")
    again = load(tmp_path / "model.mercer").explain(tmp_path / "rows.csv")
    found = model.explain(frame)
    assert again.names == found.names
    np.testing.assert_allclose(again.effect, found.effect, atol=1e-6)


# -- classes, scores and outputs ---------------------------------------------------------------


def test_classes_are_explained_by_their_decision_function():
    classes = np.array(["a", "b", "c"])[np.digitize(Y, [-0.5, 0.5])]
    model = KernelClassifier("gaussian", metric=None, scale="standard").fit(X, classes)
    of_all = []
    for code, label in enumerate("abc"):
        found = model.explain(ROWS, target=label)
        assert_slopes(found, lambda A, c=code: model.decision_function(A)[:, c])
        np.testing.assert_allclose(found.prediction, model.decision_function(ROWS)[:, code])
        assert set(found.targets) == {label}
        of_all.append(found.derivative)
    found = model.explain(ROWS)
    np.testing.assert_array_equal(found.targets, model.predict(ROWS))
    codes = np.searchsorted(["a", "b", "c"], model.predict(ROWS))
    assert len(set(codes)) == 3
    np.testing.assert_allclose(found.derivative, np.array(of_all)[codes, np.arange(len(ROWS))])


def test_two_classes_have_opposite_explanations():
    model = KernelClassifier("gaussian", metric=None, scale="standard").fit(X, Y > 0)
    one, other = model.explain(X[:30], target=True), model.explain(X[:30], target=False)
    np.testing.assert_allclose(one.prediction, model.decision_function(X[:30]))
    for name in ("prediction", "derivative", "effect"):
        np.testing.assert_allclose(getattr(one, name), -getattr(other, name))
    assert (model.explain(X[:30]).prediction >= 0).all()


def test_rankers_and_outputs():
    qid = np.repeat(np.arange(30), 10)
    ranker = KernelRanker("gaussian", metric=None, scale="standard").fit(X, Y, qid)
    found = ranker.explain(ROWS)
    assert_slopes(found, ranker.predict)
    np.testing.assert_allclose(found.prediction, ranker.predict(ROWS))
    both = KernelRegressor("gaussian", metric=None, scale="standard").fit(X, np.c_[Y, -Y])
    np.testing.assert_allclose(
        both.explain(X[:5], target=0).effect, -both.explain(X[:5], target=1).effect, atol=1e-9
    )


# -- refusals ----------------------------------------------------------------------------------


def test_what_cannot_be_explained():
    model = KernelRegressor("gaussian").fit(X, Y)
    with pytest.raises(ValueError, match="below 1, got 1"):
        model.explain(X, target=1)
    with pytest.raises(ValueError, match=r"target must be one of the classes \[False, True\]"):
        KernelClassifier("gaussian").fit(X, Y > 0).explain(X, target="yes")
    with pytest.raises(ValueError, match="set target to one of 0 to 1"):
        KernelRegressor("gaussian").fit(X, np.c_[Y, Y]).explain(X)
    with pytest.raises(ValueError, match="target must be None"):
        KernelRanker("gaussian").fit(X, Y).explain(X, target=0)
    with pytest.raises(ValueError, match="precomputed kernel has no columns"):
        KernelRegressor("precomputed").fit(X @ X.T, Y).explain(X @ X.T)
    features = KernelRegressor(Gaussian(3.0), RandomFeatures(30), scale=None).fit(X, Y)
    with pytest.raises(ValueError, match="explain at least 2 rows"):
        features.explain(X[:1])
    assert features.explain(X[:2]).effect.shape == (2, 3)
    with pytest.raises(ValueError, match="3 features"):
        model.explain(X[:, :2])
    U = np.random.default_rng(0).random((50, 2))
    inside = KernelRegressor(Sobolev(), scale=None).fit(U, U[:, 0])
    with pytest.raises(ValueError, match="effect of column 'x0' cannot be measured"):
        inside.explain(U)
    assert inside.explain([[0.5, 0.5]]).derivative[0, 0] == pytest.approx(1, abs=0.2)
    with pytest.raises(IndexError, match="there are 2 rows"):
        model.explain(X[:2])[2]


# -- how it looks ------------------------------------------------------------------------------


def test_tables_and_bars(table):
    model, frame = table
    found = model.explain(frame)
    one = found[3]
    assert len(one) == 1
    np.testing.assert_array_equal(one.effect[0], found.effect[3])
    strongest = found.names[one.order[0]]
    lines = str(one).splitlines()
    assert lines[0].startswith("prediction: ")
    assert lines[1].split("  ")[0] == "column"
    assert lines[2].startswith(strongest)
    assert "\u00b1" in str(one)
    assert f"{len(frame)} rows" in str(found)
    assert "<table>" in found._repr_html_()
    axes = one.plot()
    labels = [tick.get_text() for tick in axes.get_yticklabels()]
    assert labels[0].startswith(strongest)
    signed = one.signed[one.order[0]]
    width = axes.patches[0].get_width()
    assert width == pytest.approx(one.effect[0, one.order[0]] * (1 if signed else 2))
    axes = found.plot(max_columns=4)
    assert [bar.get_width() for bar in axes.patches] == pytest.approx(
        np.sort(np.abs(found.effect).mean(axis=0))[::-1][:4]
    )
    _, ax = plt.subplots()
    assert found.plot(ax) is ax


# -- real data ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def california():
    return real("california_housing")


@pytest.mark.real
@pytest.mark.parametrize("scale", ["standard", "quantile"])
@pytest.mark.parametrize("kernel", [Matern(2.5, "median"), LaplacianL1("median")], ids=str)
def test_california_housing(california, kernel, scale):
    A, b = np.asarray(california.X, float)[::10], np.asarray(california.y, float)[::10]
    weights = np.linspace(0.5, 2.0, 8)
    model = KernelRegressor(
        kernel, Landmarks(400), metric=weights, scale=scale, dtype="float64", random_state=0
    ).fit(A[:1800], b[:1800])
    deviations = A[:1800].std(axis=0)
    # A column is moved off its values: many are ties, at which there are two slopes.
    rows = np.random.default_rng(0).permutation(A[1800:])[:100] + 1e-4 * deviations
    found = model.explain(rows)
    np.testing.assert_allclose(found.prediction, model.predict(rows), rtol=1e-9)
    expected = steps_of(model.predict, rows, found.spread)
    np.testing.assert_allclose(found.effect, expected, atol=1e-8)
    expected = slopes(model.predict, rows, 1e-7 * deviations) * deviations
    wrong = np.abs(found.derivative * deviations - expected) / np.maximum(1.0, np.abs(expected))
    assert np.mean(wrong < 1e-5) > 0.98  # the others have a kink within the step
    assert wrong.max() < (1e-3 if kernel.learns == "full" else 0.1)
