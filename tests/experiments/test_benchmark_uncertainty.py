"""What intervals and probabilities cost, with very few rows."""

import numpy as np
import pytest
from benchmarks import uncertainty
from benchmarks.data import Covtype, signal
from benchmarks.uncertainty import WITH, WITHOUT, Sizes
from experiments.scaffold.timing import Timed, one_thread

#: Each of these runs the experiment in miniature: seconds that say little about the library.
pytestmark = pytest.mark.slow

TINY = Sizes(default=60, fixed=120, landmarks=10, predicted=40)


def rows(n=160):
    X = np.random.default_rng(0).standard_normal((n, 3))
    return X, signal(X)


def few_classes(number):
    X, y = rows(number + 50)
    codes = np.digitize(y, [-0.5, 0.5])
    Y = np.where(codes[:number, None] == np.arange(3), 1.0, -1.0)
    classes = np.arange(3)
    return Covtype(X[:number], codes[:number], Y, X[number:], codes[number:], classes)


def test_fits_and_predictions_with_and_without(monkeypatch, capsys):
    monkeypatch.setattr(uncertainty, "kin40k", rows)
    monkeypatch.setattr(uncertainty, "covtype", few_classes)
    with one_thread():
        told, table = uncertainty.run(1, TINY)
    assert "Medians of 1 interleaved repeats" in told
    lines = str(table).splitlines()[2:]
    assert len(lines) == 7  # two fits of either kind, intervals at one level and four, proba
    for line in lines:
        assert float(line.split("|")[4]) > 0
    assert "kin40k, fit with intervals, all defaults, 60 rows" in lines[0]


def test_ratios_are_those_within_rounds():
    timed = {WITHOUT: Timed([1.0, 2.0, 4.0]), WITH: Timed([1.5, 2.0, 8.0])}
    assert uncertainty.row("fit", timed) == ["fit", "2.00 s", "2.00 s", "1.50", "1.00 to 2.00"]


@pytest.mark.parametrize("settings", [{}, uncertainty.fixed(20)])
def test_only_uncertainty_is_turned_off(settings):
    made = []

    class Estimator:
        def __init__(self, **parameters):
            made.append(parameters)

        def fit(self, X, y):
            return len(X)

    both = uncertainty.pairs(Estimator, {"intervals": None}, *rows(), TINY)
    number = 0 if not settings else 1
    pair = list(both.values())[number]
    sizes = {pair[which]() for which in (WITHOUT, WITH)}
    assert sizes == {(TINY.default, TINY.fixed)[number]}
    without, with_them = made
    assert without.keys() - with_them.keys() == {"intervals"}
    assert with_them.keys() >= settings.keys()
