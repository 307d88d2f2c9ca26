"""The pictures of a metric and of its search: what is drawn where."""

import sys

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from mercer import KernelRegressor, MetricDisplay, MetricSearch, SearchDisplay, load, save

RNG = np.random.default_rng(0)
X = RNG.standard_normal((150, 4))
W = np.array([0.6, 0.0, -0.8, 0.0])
Y = np.sin(X @ W)


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def full():
    search = MetricSearch("full", rounds=2, n_components=50)
    return KernelRegressor("gaussian", metric=search, random_state=0).fit(X, Y)


@pytest.fixture(scope="module")
def diagonal():
    search = MetricSearch("diagonal", rounds=1, n_components=30)
    return KernelRegressor("gaussian", metric=search, random_state=0).fit(X, Y)


def names(display):
    return [tick.get_text() for tick in display.ax_.get_yticklabels()]


def test_bars_are_the_importances_from_the_largest_on(diagonal):
    display = MetricDisplay.from_estimator(diagonal)
    order = np.argsort(-diagonal.feature_importances_)
    np.testing.assert_array_equal(display.shown_, order)
    widths = [bar.get_width() for bar in display.bars_]
    np.testing.assert_array_equal(widths, diagonal.feature_importances_[order])
    assert names(display) == [f"column {at}" for at in order]
    top, bottom = (display.bars_[at].get_y() for at in (0, -1))
    low, high = display.ax_.get_ylim()
    assert low > high  # the axis points down, so the first bar is at the top
    assert top < bottom
    assert display.directions_ax_ is None
    assert len(display.figure_.axes) == 1


def test_the_title_says_what_was_learned(full):
    title = MetricDisplay.from_estimator(full).figure_.get_suptitle()
    assert title == f"metric: {full.fit_.search.describe()}".replace("; ", "\n")
    assert "full, learned in" in title
    assert "held-out error" in title


def test_names_and_few_columns(diagonal):
    long = [f"a name that is long, of column {at}" for at in range(4)]
    display = MetricDisplay(importances=[0.1, 0.5, 0.0, 0.4], feature_names=long).plot(2)
    assert names(display) == ["a name that\u2026 of column 1", "a name that\u2026 of column 3"]
    assert display.ax_.get_xlabel() == "importance (2 not shown)"
    diagonal_names = MetricDisplay.from_estimator(diagonal, 1)
    assert len(diagonal_names.bars_) == 1
    with pytest.raises(ValueError, match="one name per importance"):
        MetricDisplay(importances=[1.0], feature_names=["a", "b"])
    with pytest.raises(ValueError, match="max_features"):
        display.plot(0)


def test_names_of_a_data_frame():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    search = MetricSearch("diagonal", rounds=1, n_components=30)
    model = KernelRegressor("gaussian", metric=search, random_state=0).fit(frame, Y)
    assert names(MetricDisplay.from_estimator(model))[0] == "c"


def test_directions_of_a_full_metric(full):
    display = MetricDisplay.from_estimator(full)
    P = full.metric_
    values, vectors = np.linalg.eigh(P @ P.T)
    for at in range(display.directions_.shape[1]):
        assert abs(display.directions_[:, at] @ vectors[:, -1 - at]) > 1 - 1e-9
        assert display.directions_[np.abs(display.directions_[:, at]).argmax(), at] > 0
        expected = np.sqrt(values[-1 - at] / values[-1])
        np.testing.assert_allclose(display.weights_[at], expected, atol=1e-12)
    assert abs(display.directions_[:, 0] @ W) > 0.98
    (image,) = display.directions_ax_.images
    np.testing.assert_array_equal(image.get_array(), display.directions_[display.shown_])
    display.figure_.canvas.draw()


def test_given_axes(full):
    figure, axes = plt.subplots(1, 2)
    display = MetricDisplay.from_estimator(full, ax=axes[0], name="only bars")
    assert display.ax_ is axes[0]
    assert display.directions_ax_ is None
    assert axes[0].get_title(loc="left") == "only bars"
    display.plot(ax=axes)
    assert display.directions_ax_ is axes[1]
    assert display.figure_ is figure
    with pytest.raises(ValueError, match="pair of axes"):
        display.plot(ax=[axes[0], axes[1], axes[0]])


def test_a_model_without_a_search_or_from_a_file(full, tmp_path):
    given = KernelRegressor("gaussian", metric=np.diag([1.0, 0.5, 1.0, 0.1]), alpha=1e-3).fit(X, Y)
    assert MetricDisplay.from_estimator(given).weights_.tolist() == [1.0, 1.0, 0.5]
    loaded = load(save(full, tmp_path / "model"))
    first, second = (MetricDisplay.from_estimator(model) for model in (full, loaded))
    np.testing.assert_array_equal(first.importances, second.importances)
    np.testing.assert_array_equal(first.directions_, second.directions_)


def test_the_search_in_order(full):
    display = SearchDisplay.from_estimator(full, name="a search")
    found = full.search_results_
    np.testing.assert_array_equal(
        display.best_line_.get_ydata(), np.minimum.accumulate(found["error"])
    )
    assert list(display.points_) == list(dict.fromkeys(found["stage"]))
    for stage, line in display.points_.items():
        at = np.flatnonzero(found["stage"] == stage)
        np.testing.assert_array_equal(line.get_xdata(), at + 1)
        np.testing.assert_array_equal(line.get_ydata(), found["error"][at])
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert legend == ["best so far", *display.points_]
    assert display.ax_.get_title(loc="left") == "a search"
    display.figure_.canvas.draw()


def test_errors_far_apart_are_on_a_logarithmic_axis():
    display = SearchDisplay(errors=[1.0, 0.01], stages=["scale", "full"]).plot()
    assert display.ax_.get_yscale() == "log"
    display = SearchDisplay(errors=[1.0, 0.5], stages=["scale", "full"]).plot(plt.subplots()[1])
    assert display.ax_.get_yscale() == "linear"
    with pytest.raises(ValueError, match="one name per error"):
        SearchDisplay(errors=[1.0, 0.5], stages=["scale"])


def test_no_search_to_draw():
    model = KernelRegressor("gaussian", metric=None, scale=None, alpha=1e-3)
    model.set_params(kernel__bandwidth=1.0).fit(X, Y)
    with pytest.raises(ValueError, match="no search to plot"):
        SearchDisplay.from_estimator(model)


def test_without_matplotlib_it_says_what_to_install(full, monkeypatch):
    for name in ("matplotlib", "matplotlib.pyplot"):
        monkeypatch.setitem(sys.modules, name, None)
    for display in (MetricDisplay, SearchDisplay):
        with pytest.raises(ImportError, match=r"pip install mercer\[cli\]"):
            display.from_estimator(full)


def test_directions_of_a_table_are_those_of_its_encoded_columns():
    table = pd.DataFrame(X, columns=list("abcd")).assign(kind=["u", "v", "w"] * 50)
    search = MetricSearch("full", rounds=1, n_components=50)
    model = KernelRegressor("gaussian", metric=search, random_state=0).fit(table, Y)
    assert len(model.feature_importances_) == 5
    display = MetricDisplay.from_estimator(model)
    assert display.feature_names == ["a", "b", "c", "d", "kind=u", "kind=v", "kind=w"]
    assert len(display.importances) == len(model.metric_) == 7
    diagonal = KernelRegressor("gaussian", metric="diagonal", random_state=0).fit(table, Y)
    assert MetricDisplay.from_estimator(diagonal).feature_names == [*"abcd", "kind"]
