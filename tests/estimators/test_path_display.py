"""The picture of a path: what is drawn where, for every kind of fit."""

import sys

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest

from cases import classifier, regressor, rows, targets
from mercer import (
    KCGM,
    GradientDescent,
    SolverPathDisplay,
    StopAfter,
    StopAtDiscrepancy,
    StopByFolds,
    load,
    save,
)

X, Y = rows(60), targets(rows(60), 2)


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def labels(display):
    """What each line says of itself; thin lines of folds say nothing."""
    named = [line.get_label() for line in display.lines_]
    return [name for name in named if not name.startswith("_")]


def legend(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


def test_folds():
    model = regressor(solver=KCGM(StopByFolds(4)), random_state=0).fit(X, Y)
    display = SolverPathDisplay.from_estimator(model)
    assert labels(display) == ["relative residual", "training error", "validation error"]
    thin = [line for line in display.lines_ if line.get_linewidth() < 1]
    assert len(thin) == 4
    for line, errors in zip(thin, model.path_.by_fold, strict=True):
        np.testing.assert_array_equal(line.get_ydata(), errors)
    by_name = {line.get_label(): line for line in display.lines_}
    for name, curve in (
        ("relative residual", model.path_.residuals),
        ("training error", model.path_.training_error),
        ("validation error", model.validation_curve_),
    ):
        np.testing.assert_array_equal(by_name[name].get_ydata(), curve)
        np.testing.assert_array_equal(by_name[name].get_xdata(), 1 + np.arange(len(curve)))
    assert display.ax_.get_ylabel() == "mean squared error"
    assert display.residual_ax_.get_ylabel() == "relative residual"
    assert display.residual_ax_.get_yscale() == "log"
    assert display.figure_ is display.ax_.figure
    steps = "1 step taken" if model.best_step_ == 1 else f"{model.best_step_} steps taken"
    assert sorted(legend(display)) == sorted([*labels(display), steps])
    marks = [line for line in display.ax_.lines if len(line.get_xdata()) == 1]
    assert [line.get_xdata()[0] for line in marks] == [model.best_step_]
    best = model.validation_curve_[model.best_step_ - 1]
    np.testing.assert_array_equal(marks[0].get_ydata(), [best])
    display.figure_.canvas.draw()


def test_without_folds():
    model = regressor(solver=KCGM(StopByFolds(4)), random_state=0).fit(X, Y)
    display = SolverPathDisplay.from_estimator(model, folds=False)
    assert len(display.lines_) == 3
    model = regressor(solver=KCGM("held_out"), random_state=0).fit(X, Y)
    assert len(SolverPathDisplay.from_estimator(model).lines_) == 3  # one piece is no fold


@pytest.mark.parametrize("solver", [KCGM(StopAfter(5)), KCGM(StopAtDiscrepancy(0.05))], ids=str)
def test_no_other_rows(solver):
    model = classifier(solver=solver).fit(X, X[:, 0] > 0.5)
    display = SolverPathDisplay.from_estimator(model)
    assert labels(display) == ["relative residual", "training error"]


def test_the_residual_alone():
    display = SolverPathDisplay(residuals=np.geomspace(1, 1e-8, 9), training_error=[], best_step=9)
    assert display.training_error is None
    display.plot()
    assert labels(display) == ["relative residual"]
    assert display.residual_ax_ is display.ax_
    assert display.ax_.get_yscale() == "log"
    assert legend(display) == ["relative residual", "9 steps taken"]
    assert len(display.figure_.axes) == 1
    model = regressor(alpha=1e-3, solver="pcg", random_state=0).fit(X, Y)
    assert labels(SolverPathDisplay.from_estimator(model)) == ["relative residual"]


def test_given_axes_and_a_name():
    figure, axes = plt.subplots(1, 2)
    model = regressor(solver=KCGM(StopAfter(5))).fit(X, Y)
    display = SolverPathDisplay.from_estimator(model, ax=axes[1], name="five steps")
    assert display.ax_ is axes[1]
    assert display.figure_ is figure
    assert axes[1].get_title(loc="left") == "five steps"
    assert not axes[0].lines
    again = display.plot()  # the data stay with the display
    assert again is display
    assert display.ax_ is not axes[1]


def test_many_steps_are_on_a_logarithmic_axis():
    model = regressor(solver=GradientDescent(StopAfter(300))).fit(X, Y)
    assert SolverPathDisplay.from_estimator(model).ax_.get_xscale() == "log"
    model = regressor(solver=GradientDescent(StopAfter(20))).fit(X, Y)
    assert SolverPathDisplay.from_estimator(model).ax_.get_xscale() == "linear"


@pytest.mark.filterwarnings("ignore::mercer.MercerWarning")
def test_fits_that_ended_in_other_ways_can_be_drawn(tmp_path):
    diverged = regressor(solver=GradientDescent(StopAfter(50), step_size=1e6)).fit(X, Y)
    constant = regressor(solver=KCGM(StopAfter(5))).fit(X, np.ones(60))
    folds = regressor(solver=GradientDescent(step_size=1e6)).fit(X, Y)
    perfect = regressor("linear", solver=KCGM(StopAfter(5))).fit(X, X @ [1.0, 2.0])
    for model in (diverged, constant, folds, perfect):
        loaded = load(save(model, tmp_path / "model"))
        for one in (model, loaded):
            display = SolverPathDisplay.from_estimator(one)
            display.figure_.canvas.draw()


def test_direct_solvers_have_nothing_to_draw():
    with pytest.raises(AttributeError, match="only iterative solvers have steps"):
        SolverPathDisplay.from_estimator(regressor().fit(X, Y))


def test_without_matplotlib_it_says_what_to_install(monkeypatch):
    model = regressor(solver=KCGM(StopAfter(5))).fit(X, Y)
    for name in ("matplotlib", "matplotlib.pyplot"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"pip install mercer\[cli\]"):
        SolverPathDisplay.from_estimator(model)
