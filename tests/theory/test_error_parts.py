"""The parts of an error of an average over shards, against their definitions, one by one."""

import matplotlib
import numpy as np
import pytest

from mercer import ErrorPartsDisplay, KernelClassifier, KernelRanker, KernelRegressor, Landmarks
from mercer.kernels import Gaussian
from mercer.theory import error_parts
from mercer.theory.decomposition import TRAINING

matplotlib.use("Agg")
KERNEL, ALPHA = Gaussian(0.3), 1e-3


def problem(n=240, noise=0.2):
    rng = np.random.default_rng(1)
    X = rng.random((n, 1))
    Y = np.sin(6 * X) + noise * rng.standard_normal((n, 1))
    return X, Y - Y.mean()


def literal(X, Y, functions, partitions):
    """Definition 9 by refits of the library, on the split that the parts use."""
    rng = np.random.default_rng(5)
    order = rng.permutation(len(X))
    X, Y = X[order], Y[order]
    n = int(TRAINING * len(X))
    test, D = X[n:], np.arange(n)
    K = KERNEL(X)
    values = np.linalg.eigvalsh(K)
    penalties = values[-1] / len(X) * np.geomspace(1e-9, 1, 30)
    errors = []
    for penalty in penalties:  # leave-one-out, by its definition
        S = K @ np.linalg.inv(K + penalty * len(X) * np.eye(len(X)))
        errors.append(np.sum(((Y - S @ Y) / (1 - np.diag(S))[:, None]) ** 2))
    best = penalties[int(np.argmin(errors))]
    f_rho = K @ np.linalg.solve(K + best * len(X) * np.eye(len(X)), Y)
    f_lambda = K @ np.linalg.solve(K + ALPHA * len(X) * np.eye(len(X)), f_rho)

    def fit(rows, y, basis):
        model = KernelRegressor(KERNEL, basis, ALPHA, fit_intercept=False, dtype="float64")
        return model.fit(X[rows], y[rows])

    marks = Landmarks(sampling=X[:functions])
    hat, tilde = fit(D, Y, marks).predict(test), fit(D, f_rho, marks).predict(test)
    exact = fit(D, f_rho, "full").predict(test)
    bar = sum(
        len(part) / n * fit(part, Y, marks).predict(test) for part in np.array_split(D, partitions)
    )

    def distance(a, b):
        return np.sqrt(np.mean((np.ravel(a) - np.ravel(b)) ** 2))

    return {
        "total": distance(bar, f_rho[n:]),
        "distributed": distance(bar, hat),
        "sample": distance(hat, tilde),
        "nystroem": distance(tilde, exact),
        "empirical": distance(exact, f_lambda[n:]),
        "approximation": distance(f_lambda[n:], f_rho[n:]),
    }


@pytest.mark.parametrize(("functions", "partitions"), [(5, 3), (30, 1), (30, 6)])
def test_parts_are_those_of_definition_9(functions, partitions):
    X, Y = problem()
    (found,) = error_parts(KERNEL, X, Y, ALPHA, [functions], [partitions], np.random.default_rng(5))
    for name, value in literal(X, Y, functions, partitions).items():
        assert getattr(found, name) == pytest.approx(value, rel=1e-5, abs=1e-8), name


def test_shards_share_the_variance_of_a_shard_in_the_bound_of_lemma_10():
    X, Y = problem()
    (found,) = error_parts(KERNEL, X, Y, ALPHA, [10], [4], np.random.default_rng(5))
    squares = found.sample_of_shard**2 / 4 + found.nystroem_of_shard**2
    squares += found.empirical_of_shard**2 + found.approximation**2
    assert found.bound_in_expectation**2 == pytest.approx(4 * squares)


def test_parts_bound_the_whole_and_move_as_they_should():
    X, Y = problem(400)
    found = error_parts(KERNEL, X, Y, ALPHA, [3, 10, 60], [1, 5, 20], np.random.default_rng(0))
    by = {(part.functions, part.partitions): part for part in found}
    for part in found:
        assert part.total <= part.bound_in_probability * (1 + 1e-9)
        assert part.distributed <= part.bound + 1e-12
    assert by[60, 1].distributed < 1e-10 < by[60, 5].distributed < by[60, 20].distributed
    assert by[3, 1].nystroem > by[10, 1].nystroem > by[60, 1].nystroem
    # Noise, rows and penalty do not depend on shards, nor the last two on landmarks.
    assert by[60, 1].sample == by[60, 20].sample
    assert by[3, 1].empirical == by[60, 20].empirical
    # A shard has more noise than all rows; dividing by m is what an average does to it.
    assert by[60, 20].sample_of_shard > by[60, 20].sample
    assert by[60, 5].bound_in_expectation > by[60, 5].total


def test_without_noise_the_sample_part_vanishes():
    X, _ = problem(200)
    Y = np.sin(6 * X)
    quiet = error_parts(KERNEL, X, Y - Y.mean(), ALPHA, [40], [1], np.random.default_rng(0))[0]
    X, Y = problem(200, noise=0.5)
    noisy = error_parts(KERNEL, X, Y, ALPHA, [40], [1], np.random.default_rng(0))[0]
    assert quiet.sample < 1e-3 < 0.02 < noisy.sample


def test_the_display_draws_what_a_model_has():
    X, Y = problem(300)
    model = KernelRegressor(KERNEL, alpha=ALPHA).fit(X, Y[:, 0])
    display = ErrorPartsDisplay.from_estimator(
        model, X, Y[:, 0], n_components=[5, 20, 5000], partitions=[1, 5, 5000]
    )
    assert {part.functions for part in display.parts} == {5, 20}
    assert {part.partitions for part in display.parts} == {1, 5}
    assert display.axes_[0].get_xlabel() == "landmarks"
    assert len(display.axes_[1].lines) == 7
    labels = [text.get_text() for text in display.axes_[1].get_legend().get_texts()]
    assert "noise in y" in labels


def test_classes_have_parts_too():
    X, Y = problem(300)
    y = np.where(Y[:, 0] > 0, "up", "down")
    model = KernelClassifier(KERNEL, alpha=ALPHA).fit(X, y)
    display = ErrorPartsDisplay.from_estimator(model, X, y, n_components=[20], partitions=[1, 4])
    assert display.parts[1].distributed > 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sample": 10}, "sample must be at least 40"),
        ({"n_components": [5000]}, "too small: use more rows, or smaller n_components"),
        ({"partitions": [0]}, "partitions"),
    ],
)
def test_bad_options_are_refused(options, message):
    X, Y = problem(200)
    model = KernelRegressor(KERNEL, alpha=ALPHA).fit(X, Y[:, 0])
    with pytest.raises(ValueError, match=message):
        ErrorPartsDisplay.from_estimator(model, X, Y[:, 0], **options)


def test_rankings_are_refused():
    X, Y = problem(100)
    model = KernelRanker(KERNEL, alpha=ALPHA).fit(X, Y[:, 0])
    with pytest.raises(ValueError, match="not rankings"):
        ErrorPartsDisplay.from_estimator(model, X, Y[:, 0])
