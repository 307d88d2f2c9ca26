"""Errors from sums over folds against refits, and surfaces whose constants are known."""

import numpy as np
import pytest
from problems import request_for, rows_of, sharded

from mercer import KernelClassifier, KernelRegressor, Landmarks
from mercer.kernels import Gaussian, Sobolev
from mercer.moments import sum_moments
from mercer.theory.learning_surface import Point, Surface
from mercer.theory.local_kernels import LocalKernels
from mercer.theory.study import study_rows
from mercer.theory.sub_sums import (
    FOLDS,
    HELD,
    PARTITIONS,
    SIZES,
    error_rates,
    errors_by_partitions,
    errors_by_rows,
    sums_by_fold,
)


def labels_of_folds(n):
    """The fold of each row, as the moments deal them: one block, seed 0."""
    from mercer.sampling import fold_labels

    return fold_labels(n, FOLDS, np.random.default_rng([0, 0]))


def train_folds(found, at):
    """The folds of a training set: those of one size follow each other."""
    size = found[at].folds
    first = next(number for number, one in enumerate(found) if one.folds == size)
    return range((at - first) * size, (at - first + 1) * size)


def problem(n=640, noise=0.1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2))
    return X, np.sin(5 * X[:, 0]) * X[:, 1] + noise * rng.standard_normal(n)


def sums(X, y, kernel, size, classes=False):
    rows, request = rows_of(X, y), request_for(y, kernel, classes=classes)
    rng = np.random.default_rng(0)
    found = sums_by_fold(rows, request.targets, request, "landmarks", size, 0, rng)
    return rows, request, *found


def test_errors_of_unions_of_folds_are_those_of_refits():
    X, y = problem()
    _, _, basis, folds, _ = sums(X, y, Gaussian(0.4), 60)
    found = errors_by_rows(folds, basis, True)
    labels = labels_of_folds(len(X))
    assert [one.folds for one in found] == [1] * 4 + [2] * 4 + [4] * 3 + [8, 12]
    test = np.isin(labels, HELD)
    for at in (0, 3, 5, 9, 11, 12):
        one = found[at]
        train = np.isin(labels, train_folds(found, at))
        parts = {"basis": Landmarks(sampling=basis.landmarks_), "alpha": one.alpha}
        model = KernelRegressor(Gaussian(0.4), **parts, dtype="float64").fit(X[train], y[train])
        truth = y[test]
        relative = np.sum((model.predict(X[test]) - truth) ** 2)
        relative /= np.sum((truth - truth.mean()) ** 2)
        assert one.rows == train.sum()
        assert one.error == pytest.approx(relative, rel=1e-6)


def test_errors_of_averages_are_those_of_refits():
    X, y = problem()
    _, _, basis, folds, _ = sums(X, y, Gaussian(0.4), 40)
    found = errors_by_partitions(folds, basis, True, 1e-3)
    labels = labels_of_folds(len(X))
    train, test = labels < SIZES[-1], labels >= SIZES[-1]
    assert [one.shards for one in found] == list(PARTITIONS)
    for one in found:
        each = SIZES[-1] // one.shards
        model = KernelRegressor(
            Gaussian(0.4), Landmarks(sampling=basis.landmarks_), 1e-3, combine="average"
        ).fit(X[train], y[train], shard_labels=labels[train] // each)
        truth = y[test]
        relative = np.sum((model.predict(X[test]) - truth) ** 2)
        relative /= np.sum((truth - truth.mean()) ** 2)
        assert one.error == pytest.approx(relative, rel=1e-6)


@pytest.mark.parametrize("classes", [2, 3])
def test_error_rates_are_those_of_refits(classes):
    X, y = problem()
    y = np.digitize(y, np.quantile(y, np.arange(1, classes) / classes))
    rows, request, basis, folds, reading = sums(X, y, Gaussian(0.4), 50, classes=True)
    found = errors_by_rows(folds, basis, True)
    rates = error_rates(rows, request.targets, basis, reading, 0, found)
    labels = labels_of_folds(len(X))
    test = np.isin(labels, HELD)
    for at in (0, 6, 12):
        one, rate = found[at], rates[at]
        train = np.isin(labels, train_folds(found, at))
        parts = {"basis": Landmarks(sampling=basis.landmarks_), "alpha": one.alpha}
        model = KernelClassifier(Gaussian(0.4), **parts, dtype="float64").fit(X[train], y[train])
        assert rate == pytest.approx(1 - model.score(X[test], y[test]), abs=1e-9)


def test_error_rates_add_over_shards():
    X, y = problem()
    y = (y > 0).astype(int)
    _, request, basis, _, reading = sums(X, y, Gaussian(0.4), 30, classes=True)
    apart = sharded(X, y, 4)
    folds = sum_moments(apart, request.targets, basis, reading, 0)
    found = errors_by_rows(folds, basis, True)
    rates = error_rates(apart, request.targets, basis, reading, 0, found)
    assert all(0 <= rate <= 0.6 for rate in rates)
    assert np.mean(rates[-1:]) <= np.mean(rates[:4]) + 0.02


def test_averages_of_local_kernels_are_dkrr():
    X, y = problem(320)
    request = request_for(y, Gaussian(0.4))
    local = LocalKernels(rows_of(X, y), request.targets, Gaussian(0.4), False)
    found = local.averages(1e-3, False)
    order = np.random.default_rng(0).permutation(len(X))
    train, test = order[:240], order[240:]
    # Encoded targets have an origin: undo it.
    Y = request.targets.encode(y, 0)[:, 0]
    for parts, one in zip(PARTITIONS, found, strict=True):
        total = np.zeros(len(test))
        for part in np.array_split(train, parts):
            K = Gaussian(0.4)(X[part]) + 1e-3 * len(part) * np.eye(len(part))
            total += len(part) / 240 * Gaussian(0.4)(X[test], X[part]) @ np.linalg.solve(K, Y[part])
        relative = np.sum((total - Y[test]) ** 2) / np.sum((Y[test] - Y[test].mean()) ** 2)
        assert one.error == pytest.approx(relative, rel=1e-9)
        assert one.rows == 240 / parts


def known_points(noise, C, rate, D, gain, family="landmarks"):
    sizes = [(n, m) for n in (500, 1000, 2000, 4000, 6000) for m in (150, 300, 600)]
    return [Point(n, m, noise + C * n**-rate + D * m**-gain, 1e-4, family) for n, m in sizes]


def test_a_surface_finds_the_constants_it_was_made_of():
    surface = Surface.of(known_points(0.2, 5.0, 0.5, 20.0, 1.0))
    assert surface.misfit < 0.01
    assert surface.rate.low <= 0.5 <= surface.rate.high
    assert surface.noise.value == pytest.approx(0.2, abs=0.02)
    truth = 0.2 + 5 * 1e6**-0.5 + 20 / 5000
    found = surface.at(1e6, 5000)
    assert found.low <= truth * 1.001
    assert found.high >= truth * 0.999
    assert found.value == pytest.approx(truth, rel=0.05)


def test_families_of_functions_have_constants_of_their_own():
    points = known_points(0.1, 5.0, 0.5, 5.0, 1.0)
    points += known_points(0.1, 5.0, 0.5, 50.0, 1.0, "random features")
    surface = Surface.of(points)
    assert surface.at(1e4, 600, "random features").value == pytest.approx(
        0.1 + 5e-2 + 50 / 600, rel=0.03
    )
    assert surface.at(1e4, 600).value == pytest.approx(0.1 + 5e-2 + 5 / 600, rel=0.03)


def test_a_study_of_a_known_problem():
    """Pure noise has nothing to learn, and a smooth function nothing but noise in the end."""
    X, y = problem(3200, noise=0.3)
    study = study_rows(rows_of(X, y), request_for(y, Gaussian(0.4)), n_components=200)
    assert np.sqrt(study.spread * study.surface.noise.value) == pytest.approx(0.3, rel=0.05)
    assert np.sqrt(study.spread) == pytest.approx(y.std(), rel=0.01)
    assert study.r.low <= study.r.value <= study.r.high
    assert study.gamma.low <= study.gamma.value <= study.gamma.high
    assert study.supremum.value >= study.gamma.value
    assert study.alpha(1e6) <= study.alpha(1e3)
    assert study.added("shared", 100) >= study.added("shared", 10_000)
    assert study.added("full", 100) >= study.added("full", 10_000)


@pytest.mark.parametrize(("target", "r"), [(lambda x: np.sign(x - 0.4), 0.25), (np.sin, 0.75)])
def test_the_interval_of_the_source_exponent_holds_a_known_one(target, r):
    """Eigenvalues of the kernel 1 + min(x, z) are j^-2: a step has r = 1/4, a wave at least 3/4."""
    rng = np.random.default_rng(0)
    X = rng.random((2000, 1))
    y = target(X[:, 0]) + 0.05 * rng.standard_normal(2000)
    study = study_rows(rows_of(X, y), request_for(y, Sobolev()), n_components=200)
    assert study.r.low <= r <= study.r.high
    assert study.exponents.gamma == pytest.approx(0.5, abs=0.06)


def test_without_enough_rows_a_study_says_that_r_is_open():
    X, y = problem(400, noise=1.0)
    study = study_rows(rows_of(X, y), request_for(y, Gaussian(0.4)), n_components=64)
    assert study.r_verdict == "the sample cannot tell"


def test_too_few_rows_are_refused():
    X, y = problem(100)
    with pytest.raises(ValueError, match="a plan needs at least 320 rows with labels"):
        study_rows(rows_of(X, y), request_for(y, Gaussian(0.4)))


def test_shards_are_studied_like_one_place():
    X, y = problem(1600)
    one = study_rows(rows_of(X, y), request_for(y, Gaussian(0.4)), sample=1000, n_components=64)
    other = study_rows(
        sharded(X, y, 4), request_for(y, Gaussian(0.4)), sample=1000, n_components=64
    )
    # The same rows are drawn, by the user's numbers: the same errors.
    errors = [[point.error for point in study.points] for study in (one, other)]
    np.testing.assert_allclose(errors[0], errors[1], rtol=0.2)
    everywhere = study_rows(
        sharded(X, y, 4), request_for(y, Gaussian(0.4)), sample=None, n_components=64
    )
    assert everywhere.n_rows == 1600
    assert "full" not in everywhere.excess
