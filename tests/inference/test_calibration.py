"""Maps from scores to probabilities: least log loss, whatever the scores."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from mercer.inference.calibration import (
    OFFSET_PENALTY,
    chosen_map,
    classes_of,
    cross_fitted,
    fit_map,
    joined,
)
from mercer.inference.probability_map import (
    FLOOR,
    MAPS,
    NAMES,
    ProbabilityMap,
    by_class,
    log_share,
)
from mercer.storage.state import check_state


def drawn(rows=400, classes=4, slope=3.0, seed=0, offsets=None):
    """Scores, classes drawn by their probabilities, and weights."""
    rng = np.random.default_rng(seed)
    f = rng.uniform(-1, 1, (rows, 1 if classes == 2 else classes))
    offsets = np.zeros(classes) if offsets is None else offsets
    truth = ProbabilityMap("sigmoid", np.array([slope, 0.0]), offsets)
    p = truth.probabilities(f).cumsum(axis=1)
    codes = (rng.random((rows, 1)) > p).sum(axis=1).clip(0, classes - 1)
    return f, codes, rng.uniform(0.5, 2.0, rows)


def literal(name, theta, f, codes, weight):
    """The sum that a map minimizes, row by row; theta are both slopes and the offsets."""
    total = 0.5 * MAPS[name].penalty * np.sum((theta[:2] - np.array(MAPS[name].center)) ** 2)
    total += 0.5 * OFFSET_PENALTY * np.sum(theta[2:] ** 2)
    for scores, code, w in zip(by_class(f), codes, weight, strict=True):
        u = (1 + scores) / 2
        q = FLOOR + (u + np.sqrt(u**2 + 4 * FLOOR**2)) / 2
        z = theta[0] * scores + theta[1] * np.log(q) + theta[2:]
        total -= w * (z[code] - np.log(np.sum(np.exp(z))))
    return total


@pytest.mark.parametrize("classes", [2, 3, 6])
@pytest.mark.parametrize("name", MAPS)
def test_newton_finds_the_least_sum(name, classes):
    f, codes, weight = drawn(120, classes)
    found = fit_map(name, f, codes, weight)
    family = MAPS[name]
    free = np.append(family.slopes, np.full(classes, family.offsets))
    theta = np.append(found.slopes, found.offsets)
    assert np.all(theta[~free] == 0.0)

    def of(part):
        whole = np.zeros(2 + classes)
        whole[free] = part
        return literal(name, whole, f, codes, weight)

    bounds = [(0, None) if at < 2 else (None, None) for at in np.flatnonzero(free)]
    start = np.append(family.center, np.zeros(classes))[free]
    best = minimize(of, start, bounds=bounds, options={"ftol": 1e-14, "gtol": 1e-8})
    np.testing.assert_allclose(theta[free], best.x, atol=5e-4, rtol=1e-3)
    assert of(theta[free]) <= best.fun + 1e-8


@pytest.mark.parametrize("classes", [2, 4])
def test_least_squares_that_is_right_stays_as_it_is(classes):
    """Scores of 2P - 1 have slopes of 0 and 1, which no softmax of scores can say."""
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(classes), 20_000)
    codes = (rng.random((20_000, 1)) > p.cumsum(axis=1)).sum(axis=1)
    f = 2 * p - 1 if classes > 2 else 2 * p[:, 1:] - 1
    found = fit_map("power", f, codes, np.ones(20_000))
    np.testing.assert_allclose(found.slopes, [0.0, 1.0], atol=0.1)
    assert np.abs(found.probabilities(f) - p).mean() < 0.01
    worse = fit_map("sigmoid", f, codes, np.ones(20_000))
    assert np.abs(worse.probabilities(f) - p).mean() > 2 * np.abs(found.probabilities(f) - p).mean()


def test_a_temperature_that_is_right_stays_as_it_is():
    f, codes, weight = drawn(20_000, 4, slope=2.0)
    found = fit_map("power", f, codes, weight)
    truth = ProbabilityMap("temperature", np.array([2.0, 0.0]), np.zeros(4))
    assert np.abs(found.probabilities(f) - truth.probabilities(f)).mean() < 0.01


def test_two_classes_are_platts_sigmoid():
    """Up to the penalty, which many rows do not feel."""
    f, codes, weight = drawn(20_000, 2, slope=2.0, offsets=np.array([-0.3, 0.3]))
    found = fit_map("sigmoid", f, codes, weight)
    platt = LogisticRegression(C=np.inf, tol=1e-10).fit(f, codes, weight)
    np.testing.assert_allclose(found.probabilities(f), platt.predict_proba(f), atol=1e-3)
    assert found.slopes[0] == pytest.approx(2.0, rel=0.05)
    assert found.offsets[1] - found.offsets[0] == pytest.approx(0.6, abs=0.1)


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("classes", [2, 3])
def test_weight_two_is_the_row_twice(name, classes):
    f, codes, _ = drawn(60, classes)
    counts = np.random.default_rng(1).integers(0, 3, 60)
    found = fit_map(name, f, codes, counts.astype(float))
    at = np.repeat(np.arange(60), counts)
    again = fit_map(name, f[at], codes[at], np.ones(len(at)))
    np.testing.assert_allclose(found.slopes, again.slopes, atol=1e-7)
    np.testing.assert_allclose(found.offsets, again.offsets, atol=1e-7)


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


@pytest.mark.parametrize("name", MAPS)
def test_scores_in_the_wrong_order_are_not_turned_round(name):
    f, codes, weight = drawn(300, 2)
    assert np.all(fit_map(name, -f, codes, weight).slopes <= 1e-6)


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("start", [(0.0, 0.0), (0.01, 3.0), (50.0, 0.0), (3.0, 30.0)])
def test_the_start_does_not_matter(name, start):
    f, codes, weight = drawn(200, 3)
    found = fit_map(name, f, codes, weight)
    from_there = ProbabilityMap(name, np.array(start), np.array([3.0, -3.0, 1.0]))
    again = fit_map(name, f, codes, weight, from_there)
    np.testing.assert_allclose(again.slopes, found.slopes, atol=1e-5)
    np.testing.assert_allclose(again.offsets, found.offsets, atol=1e-5)


@pytest.mark.parametrize("name", ["power", "temperature"])
def test_without_offsets_the_largest_score_is_the_most_probable(name):
    f, codes, weight = drawn(500, 4)
    found = fit_map(name, f, codes, weight)
    wild = 3 * np.random.default_rng(3).normal(size=(500, 4))
    np.testing.assert_array_equal(found.probabilities(wild).argmax(axis=1), wild.argmax(axis=1))
    assert np.all(np.diff(log_share(np.linspace(-1e3, 1e3, 999))) > 0)


def test_probabilities_add_up_and_rise_with_the_score():
    found = ProbabilityMap("sigmoid", np.array([2.0, 0.5]), np.array([0.1, -0.2, 0.0]))
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
        return chosen_map(NAMES["auto"], f, codes, weight, np.arange(3000))[0].name

    assert name(np.zeros(3)) == "power"
    assert name(np.array([0.0, 1.0, -1.0])) == "power with offsets"


def test_targets_of_plus_and_minus_one_are_classes():
    codes = np.array([0, 2, 1])
    np.testing.assert_array_equal(classes_of(2.0 * np.eye(3)[codes] - 1.0), codes)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (ProbabilityMap("softmax", np.ones(2), np.zeros(3)), "unknown name"),
        (ProbabilityMap("sigmoid", np.array([-1.0, 0.0]), np.zeros(3)), "slopes must not be"),
        (ProbabilityMap("sigmoid", np.array([np.nan, 0.0]), np.zeros(3)), "slopes must"),
        (ProbabilityMap("sigmoid", np.ones(3), np.zeros(3)), "slopes must"),
        (ProbabilityMap("sigmoid", np.ones(2), np.zeros(2)), "offsets must"),
        (ProbabilityMap("sigmoid", np.ones(2), np.array([0.0, np.inf, 0.0])), "offsets must"),
    ],
    ids=str,
)
def test_maps_that_cannot_be_are_refused(wrong, words):
    with pytest.raises(ValueError, match=words):
        check_state(wrong, classes=3)
