"""Maps from scores to probabilities: least log loss, whatever the scores."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from mercer.inference.calibration import (
    MAPS,
    OFFSET_PENALTY,
    SLOPE,
    SLOPE_PENALTY,
    ProbabilityMap,
    by_class,
    chosen_map,
    classes_of,
    cross_fitted,
    fit_map,
    joined,
)


def drawn(rows=400, classes=4, slope=3.0, seed=0, offsets=None):
    """Scores, classes drawn by their probabilities, and weights."""
    rng = np.random.default_rng(seed)
    f = rng.uniform(-1, 1, (rows, 1 if classes == 2 else classes))
    truth = ProbabilityMap("sigmoid", slope, np.zeros(classes) if offsets is None else offsets)
    p = truth.probabilities(f).cumsum(axis=1)
    codes = (rng.random((rows, 1)) > p).sum(axis=1).clip(0, classes - 1)
    return f, codes, rng.uniform(0.5, 2.0, rows)


def literal(theta, f, codes, weight):
    """The sum that a map minimizes, row by row."""
    total = 0.5 * SLOPE_PENALTY * (theta[0] - SLOPE) ** 2
    total += 0.5 * OFFSET_PENALTY * np.sum(theta[1:] ** 2)
    for scores, code, w in zip(by_class(f), codes, weight, strict=True):
        z = theta[0] * scores + theta[1:]
        total -= w * (z[code] - np.log(np.sum(np.exp(z))))
    return total


@pytest.mark.parametrize("classes", [2, 3, 6])
@pytest.mark.parametrize("name", MAPS)
def test_newton_finds_the_least_sum(name, classes):
    f, codes, weight = drawn(120, classes)
    found = fit_map(name, f, codes, weight)
    free = 1 + classes * MAPS[name]

    def of(part):
        return literal(np.append(part, np.zeros(1 + classes - free)), f, codes, weight)

    best = minimize(of, np.append(1.0, np.zeros(free - 1)), method="BFGS", options={"gtol": 1e-7})
    np.testing.assert_allclose(
        np.append(found.slope, found.offsets)[:free], best.x, atol=2e-4, rtol=1e-4
    )
    assert of(np.append(found.slope, found.offsets)[:free]) <= best.fun + 1e-9


def test_two_classes_are_platts_sigmoid():
    """Up to the penalty, which many rows do not feel."""
    f, codes, weight = drawn(20_000, 2, slope=2.0, offsets=np.array([-0.3, 0.3]))
    found = fit_map("sigmoid", f, codes, weight)
    platt = LogisticRegression(C=np.inf, tol=1e-10).fit(f, codes, weight)
    np.testing.assert_allclose(found.probabilities(f), platt.predict_proba(f), atol=1e-3)
    assert found.slope == pytest.approx(2.0, rel=0.05)
    assert found.offsets[1] - found.offsets[0] == pytest.approx(0.6, abs=0.1)


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("classes", [2, 3])
def test_weight_two_is_the_row_twice(name, classes):
    f, codes, _ = drawn(60, classes)
    counts = np.random.default_rng(1).integers(0, 3, 60)
    found = fit_map(name, f, codes, counts.astype(float))
    at = np.repeat(np.arange(60), counts)
    again = fit_map(name, f[at], codes[at], np.ones(len(at)))
    assert found.slope == pytest.approx(again.slope, rel=1e-9)
    np.testing.assert_allclose(found.offsets, again.offsets, atol=1e-9)


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("rows", [2, 30, 30_000])
def test_separated_scores_give_finite_probabilities(name, rows):
    codes = np.arange(rows) % 2
    f = (2.0 * codes - 1.0)[:, None]
    found = fit_map(name, f, codes, np.ones(rows))
    p = found.probabilities(f)[np.arange(rows), codes]
    assert np.all((p > 0.5) & (p < 1.0))
    assert np.all(np.isfinite(found.log_probabilities(100 * f)))
    assert 1 - p.min() < 2 / rows + 0.2 * (rows == 2)  # as sure as so many rows allow


def test_more_rows_without_an_error_make_surer():
    def wrong(rows):
        codes = np.arange(rows) % 2
        f = (2.0 * codes - 1.0)[:, None]
        return fit_map("sigmoid", f, codes, np.ones(rows)).probabilities(f)[0, 1]

    assert wrong(10) > wrong(100) > wrong(1000)


@pytest.mark.parametrize("classes", [2, 3])
def test_constant_scores_give_the_shares_of_classes(classes):
    codes = np.repeat(np.arange(classes), 100 * 3 ** np.arange(classes))
    shares = np.bincount(codes) / len(codes)
    f = np.full((len(codes), 1 if classes == 2 else classes), 0.25)
    found = fit_map("sigmoid", f, codes, np.ones(len(codes)))
    np.testing.assert_allclose(found.probabilities(f)[0], shares, atol=5e-3)


def test_a_class_without_rows_has_a_small_probability():
    f, codes, weight = drawn(300, 3)
    found = fit_map("sigmoid", f, np.minimum(codes, 1), weight)
    p = found.probabilities(f)[:, 2]
    assert np.all(p > 0)
    assert p.mean() < 0.02


def test_scores_in_the_wrong_order_are_not_turned_round():
    f, codes, weight = drawn(300, 2)
    found = fit_map("sigmoid", -f, codes, weight)
    assert found.slope == 0.0


@pytest.mark.parametrize("start", [0.0, 0.01, 50.0])
def test_the_start_does_not_matter(start):
    f, codes, weight = drawn(200, 3)
    found = fit_map("sigmoid", f, codes, weight)
    from_there = ProbabilityMap("sigmoid", start, np.array([3.0, -3.0, 1.0]))
    again = fit_map("sigmoid", f, codes, weight, from_there)
    assert again.slope == pytest.approx(found.slope, rel=1e-5)
    np.testing.assert_allclose(again.offsets, found.offsets, atol=1e-5)


def test_probabilities_add_up_and_rise_with_the_score():
    found = ProbabilityMap("sigmoid", 2.0, np.array([0.1, -0.2, 0.0]))
    f = np.random.default_rng(0).normal(size=(50, 3))
    np.testing.assert_allclose(found.probabilities(f).sum(axis=1), 1.0)
    np.testing.assert_allclose(np.exp(found.log_probabilities(f)), found.probabilities(f))
    higher = f + np.array([0.3, 0.0, 0.0])
    assert np.all(found.probabilities(higher)[:, 0] > found.probabilities(f)[:, 0])


def test_what_is_said_of_a_map_comes_from_other_folds():
    f, codes, weight = drawn(90, 3)
    fold = np.arange(90) % 3
    logs = cross_fitted(fit_map("sigmoid", f, codes, weight), f, codes, weight, fold)
    for group in range(3):
        rest = fold != group
        part = fit_map("sigmoid", f[rest], codes[rest], weight[rest])
        np.testing.assert_allclose(logs[~rest], part.log_probabilities(f[~rest]), atol=1e-5)


def test_single_rows_as_folds_are_joined():
    assert len(np.unique(joined(np.arange(1000)))) == 5
    f, codes, weight = drawn(30, 2)
    logs = cross_fitted(fit_map("sigmoid", f, codes, weight), f, codes, weight, np.zeros(30))
    assert np.all(np.isfinite(logs))  # one fold: nothing to leave out


def test_offsets_are_chosen_where_they_help():
    def name(offsets):
        f, codes, weight = drawn(3000, 3, offsets=offsets)
        return chosen_map(tuple(MAPS), f, codes, weight, np.arange(3000))[0].name

    assert name(np.zeros(3)) == "temperature"
    assert name(np.array([0.0, 2.0, -2.0])) == "sigmoid"


def test_targets_of_plus_and_minus_one_are_classes():
    codes = np.array([0, 2, 1])
    np.testing.assert_array_equal(classes_of(2.0 * np.eye(3)[codes] - 1.0), codes)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (ProbabilityMap("softmax", 1.0, np.zeros(3)), "unknown name"),
        (ProbabilityMap("sigmoid", -1.0, np.zeros(3)), "slope must be"),
        (ProbabilityMap("sigmoid", np.nan, np.zeros(3)), "slope must be"),
        (ProbabilityMap("sigmoid", 1.0, np.zeros(2)), "offsets must"),
        (ProbabilityMap("sigmoid", 1.0, np.array([0.0, np.inf, 0.0])), "offsets must"),
    ],
    ids=str,
)
def test_maps_that_cannot_be_are_refused(wrong, words):
    with pytest.raises(ValueError, match=words):
        wrong.check_state(3)
