"""Intervals cover, adapt, widen far away, scale with y, and refuse what cannot be."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mercer
from mercer import KernelRegressor, Landmarks, RandomFeatures
from mercer.inference.mixture_quantiles import ErrorMixture
from mercer.kernels import Gaussian

LEVELS = (0.5, 0.8, 0.9, 0.95)


def table(n, seed, noise=lambda X: 0.1 + 0.3 * (X[:, 0] > 0)):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, (n, 2))
    return X, np.sin(2 * X[:, 0]) * X[:, 1] + noise(X) * rng.normal(size=n)


X, Y = table(1500, 0)
NEW, TRUTH = table(4000, 1)


def covered(ends, y=TRUTH):
    return np.mean((ends[:, 0] <= y) & (y <= ends[:, 1]))


CASES = {
    "full kernel": {"basis": "full", "solver": "ridge"},
    "full kernel by products": {"basis": "full", "solver": "pcg", "alpha": 1e-4},
    "landmarks": {"basis": Landmarks(150)},
    "float32": {"basis": Landmarks(150), "dtype": "float32"},
    "float64": {"basis": Landmarks(150), "dtype": "float64"},
    "features": {"basis": RandomFeatures(300)},
    "products": {"basis": Landmarks(300), "solver": "pcg"},
    "shards": {"basis": Landmarks(150), "shards": 3},
    "average": {"basis": Landmarks(150), "shards": 6, "combine": "average"},
    "jackknife+": {"basis": Landmarks(150), "intervals": "jackknife+"},
    "jackknife+ of the full kernel": {
        "basis": "full",
        "solver": "ridge",
        "alpha": 1e-4,
        "intervals": "jackknife+",
    },
}


@pytest.mark.parametrize("case", CASES)
def test_intervals_cover_and_adapt(case):
    model = KernelRegressor(Gaussian(1.0), random_state=0, **CASES[case]).fit(X, Y)
    ends = model.predict_interval(NEW, LEVELS)
    assert ends.shape == (len(NEW), 2, 4)
    for place, level in enumerate(LEVELS):
        assert abs(covered(ends[:, :, place]) - level) < 0.04, level
    # The noise is four times as large on one side.
    quiet, loud = NEW[:, 0] < -0.3, NEW[:, 0] > 0.3
    width = ends[:, 1, 2] - ends[:, 0, 2]
    assert width[loud].mean() > 2 * width[quiet].mean()
    assert abs(covered(ends[quiet, :, 2], TRUTH[quiet]) - 0.9) < 0.07
    assert abs(covered(ends[loud, :, 2], TRUTH[loud]) - 0.9) < 0.07
    one = model.predict_interval(NEW[:50], 0.9)
    np.testing.assert_allclose(one, ends[:50, :, 2], atol=1e-6)


def test_rows_far_from_all_others_have_wide_intervals():
    model = KernelRegressor(random_state=0).fit(X, Y)
    near, far = np.diff(model.predict_interval([[0.1, 0.2], [40.0, -40.0]]))
    assert far > 4 * near
    assert far > 2 * np.std(Y)


@pytest.mark.parametrize("kernel", ["linear", "polynomial"])
def test_kernels_that_grow_widen_far_away_too(kernel):
    model = KernelRegressor(kernel, Landmarks(60), random_state=0).fit(X, Y)
    near, far = np.diff(model.predict_interval([[0.1, 0.2], [40.0, -40.0]]))
    assert far > near


@given(scale=st.floats(1e-3, 1e3), shift=st.floats(-1e3, 1e3))
def test_intervals_scale_and_shift_with_y(scale, shift):
    settings = {"kernel": Gaussian(1.0), "basis": Landmarks(50), "alpha": 1e-3, "random_state": 0}
    plain = KernelRegressor(**settings).fit(X[:300], Y[:300]).predict_interval(NEW[:20])
    moved = KernelRegressor(**settings).fit(X[:300], scale * Y[:300] + shift)
    expected = scale * plain + shift
    size = scale + abs(shift)
    np.testing.assert_allclose(moved.predict_interval(NEW[:20]), expected, atol=1e-4 * size)


def test_weights_count_as_repeated_rows_in_the_errors():
    errors, fold = np.random.default_rng(0).normal(size=90), np.arange(90) % 3
    weight = np.random.default_rng(1).integers(1, 4, 90)
    centers, scale = np.array([[0.0, 0.1, -0.2]]), np.ones(1)
    weighted = ErrorMixture.of(errors, weight.astype(float), fold, 3)
    repeated = ErrorMixture.of(
        np.repeat(errors, weight), np.ones(weight.sum()), np.repeat(fold, weight), 3
    )
    for level in (0.1, 0.5, 0.9):
        a, b = (m.quantile(centers, scale, level).item() for m in (weighted, repeated))
        assert a == pytest.approx(b, abs=0.15)


@pytest.mark.parametrize("models", [1, 3, 10, 200])
@pytest.mark.parametrize("level", [0.02, 0.1, 0.5, 0.9, 0.98])
def test_quantiles_of_the_mixture_against_all_moved_errors(models, level):
    rng = np.random.default_rng(models)
    errors, fold = rng.gumbel(size=600), rng.integers(models, size=600)
    centers = 0.2 * rng.normal(size=(40, models))
    scale = rng.uniform(0.5, 2.0, 40)
    found = ErrorMixture.of(errors, np.ones(600), fold, models).quantile(centers, scale, level)
    moved = np.sort(centers[:, fold] + scale[:, None] * errors, axis=1)
    upper = level >= 0.5
    place = int(np.ceil(level * 601 - 1e-9)) - 1 if upper else int(np.floor(level * 601 + 1e-9)) - 1
    inside = moved[:, place]
    assert np.all(np.isfinite(inside))
    # The distribution is linear between the errors of a fold, of which there are few.
    rows_beyond = np.abs((moved <= found[:, None]).sum(axis=1) - (place + 1))
    assert rows_beyond.max() <= (2 if models in (1, 200) else models + 2)


def test_jackknife_plus_is_a_refit_for_every_row():
    x, y = X[:60], Y[:60]
    for basis in ("full", Landmarks(20)):
        model = KernelRegressor(
            Gaussian(1.0), basis, 1e-3, solver="ridge", intervals="jackknife+", random_state=0
        ).fit(x, y)
        intervals = model.fit_.intervals
        assert intervals.models == 60
        H = model.basis_.evaluate(x).astype(float)
        gram, Z = model.basis_.gram(), model._targets.encode(y, 0)
        for row in (0, 17, 59):
            keep = np.arange(60) != row
            m, mean = H[keep].mean(axis=0), Z[keep].mean(axis=0)
            # The same total penalty.
            A = (H[keep] - m).T @ (H[keep] - m) / 59 + model.alpha_ * 60 / 59 * gram
            c = np.linalg.lstsq(A, (H[keep] - m).T @ (Z[keep] - mean) / 59, rcond=1e-13)[0]
            expected = (H - m) @ c + mean
            found = H @ intervals.coefficients[row] + intervals.intercept[row]
            np.testing.assert_allclose(found, expected, atol=1e-5)


def test_quantiles_increase_and_contain_the_interval():
    model = KernelRegressor(random_state=0).fit(X, Y)
    levels = [0.95, 0.05, 0.5]
    found = model.predict_quantiles(NEW[:100], levels)
    assert np.all(np.diff(found[:, [1, 2, 0]], axis=1) >= 0)
    np.testing.assert_allclose(found[:, [1, 0]], model.predict_interval(NEW[:100], 0.9))
    np.testing.assert_allclose(model.predict_quantiles(NEW[:100], 0.5), found[:, 2])
    assert abs(np.mean(TRUTH[:100] <= found[:, 2]) - 0.5) < 0.15


def test_several_outputs_have_their_own_intervals():
    both = np.column_stack([Y, 10 * Y + 3])
    model = KernelRegressor(Gaussian(1.0), Landmarks(60), random_state=0).fit(X, both)
    ends = model.predict_interval(NEW[:30], [0.5, 0.9])
    assert ends.shape == (30, 2, 2, 2)
    assert model.predict_interval(NEW[:30]).shape == (30, 2, 2)
    np.testing.assert_allclose(ends[..., 1], 10 * ends[..., 0] + 3, atol=1e-3)


@pytest.mark.parametrize("solver", ["auto", "pcg"])
def test_intervals_come_back_from_a_file(solver, tmp_path):
    model = KernelRegressor(basis=Landmarks(150), solver=solver, random_state=0).fit(X, Y)
    again = mercer.load(mercer.save(model, tmp_path / "model"))
    np.testing.assert_array_equal(
        again.predict_interval(NEW, LEVELS), model.predict_interval(NEW, LEVELS)
    )


def test_rows_can_be_a_file(tmp_path):
    model = KernelRegressor(Gaussian(1.0), random_state=0).fit(X, Y)
    np.save(tmp_path / "new.npy", NEW)
    np.testing.assert_allclose(
        model.predict_interval(tmp_path / "new.npy"), model.predict_interval(NEW), atol=1e-12
    )


def test_fit_from_a_file_and_from_many_rows_leaves_a_sample_out(tmp_path, monkeypatch):
    from mercer.leaving_out import LeaveOut

    monkeypatch.setattr(
        KernelRegressor,
        "_leave_out",
        lambda self: LeaveOut(folds=5, sample=400, few=300, scale=True),
    )
    np.savetxt(
        tmp_path / "rows.csv",
        np.column_stack([X, Y]),
        delimiter=",",
        header="a,b,y",
        comments="",
    )
    model = KernelRegressor(Gaussian(1.0), Landmarks(60), random_state=0)
    model.fit(tmp_path / "rows.csv", "y")
    intervals = model.fit_.intervals
    assert intervals.models == 5
    assert 300 < len(intervals.rows.weight) <= 400
    assert abs(covered(model.predict_interval(NEW, 0.9)) - 0.9) < 0.05


def test_rows_at_landmarks_are_not_left_out():
    model = KernelRegressor(Gaussian(1.0), Landmarks(100), random_state=0).fit(X, Y)
    rows = model.fit_.intervals.rows
    assert len(rows.weight) == len(X) - 100
    others = np.setdiff1d(np.arange(len(X)), model.basis_.indices_)
    np.testing.assert_allclose(rows.targets, model._targets.encode(Y, 0)[others])


def test_unlabelled_rows_have_no_errors():
    partly = np.where(np.arange(len(X)) % 3 == 0, np.nan, Y)
    model = KernelRegressor(Gaussian(1.0), Landmarks(60), unlabelled="use", random_state=0)
    model.fit(X, partly)
    assert np.isfinite(model.fit_.intervals.rows.targets).all()
    assert abs(covered(model.predict_interval(NEW, 0.9)) - 0.9) < 0.05


@pytest.mark.parametrize("coverage", [0, 1, -0.1, 1.5, 90, np.nan, [0.5, 2.0], []])
def test_coverage_must_be_between_0_and_1(coverage):
    model = KernelRegressor(Gaussian(1.0), random_state=0).fit(X[:100], Y[:100])
    with pytest.raises(ValueError, match="coverage must"):
        model.predict_interval(NEW[:2], coverage)


def test_too_few_rows_for_a_coverage_says_how_many_are_needed():
    model = KernelRegressor(Gaussian(1.0), random_state=0).fit(X[:30], Y[:30])
    assert np.isfinite(model.predict_interval(NEW[:2], 0.9)).all()
    with pytest.raises(ValueError, match="at least 39 left-out rows, and there are 30"):
        model.predict_interval(NEW[:2], 0.95)


def test_models_without_errors_say_why_and_can_be_calibrated():
    model = KernelRegressor(Gaussian(1.0), intervals=None, random_state=0).fit(X[:700], Y[:700])
    with pytest.raises(ValueError, match="fitted with intervals=None"):
        model.predict_interval(NEW)
    before = model.predict(NEW)
    model.calibrate(X[700:], Y[700:])
    assert abs(covered(model.predict_interval(NEW, 0.9)) - 0.9) < 0.04
    np.testing.assert_array_equal(model.predict(NEW), before)


def test_added_rows_drop_the_intervals():
    model = KernelRegressor(Gaussian(1.0), Landmarks(60), random_state=0).fit(X[:700], Y[:700])
    model.partial_fit(X[700:800], Y[700:800])
    with pytest.raises(ValueError, match="rows were added or removed"):
        model.predict_interval(NEW)
    model.calibrate(X[800:], Y[800:])
    assert abs(covered(model.predict_interval(NEW, 0.9)) - 0.9) < 0.04


def test_rounds_of_communication_ask_for_calibration():
    model = KernelRegressor(
        Gaussian(1.0), Landmarks(60), 1e-3, shards=3, combine="newton", random_state=0
    ).fit(X[:900], Y[:900])
    with pytest.raises(ValueError, match="use calibrate"):
        model.predict_interval(NEW)
    model.calibrate(X[900:], Y[900:])
    assert abs(covered(model.predict_interval(NEW, 0.9)) - 0.9) < 0.05


def test_calibration_needs_as_many_targets_as_rows():
    model = KernelRegressor(Gaussian(1.0), random_state=0).fit(X[:100], Y[:100])
    with pytest.raises(ValueError, match="as many rows, got 100 and 99"):
        model.calibrate(X[:100], Y[:99])


def test_jackknife_plus_is_for_few_rows_and_direct_solves():
    big, y = table(4100, 2)
    with pytest.raises(ValueError, match="at most 4000 rows"):
        KernelRegressor(Gaussian(1.0), Landmarks(50), intervals="jackknife+").fit(big, y)
    with pytest.raises(ValueError, match="needs a direct solve"):
        KernelRegressor(Gaussian(1.0), Landmarks(50), solver="pcg", intervals="jackknife+").fit(
            X, Y
        )
    with pytest.raises(ValueError, match="unknown intervals"):
        KernelRegressor(intervals="cv").fit(X, Y)


def test_left_out_coverage_is_near_the_nominal_one():
    intervals = KernelRegressor(Gaussian(1.0), random_state=0).fit(X, Y).fit_.intervals
    for level in LEVELS:
        assert abs(intervals.left_out_coverage(level) - level) < 0.02


def test_constant_targets_and_exact_fits_have_narrow_intervals():
    constant = KernelRegressor(Gaussian(1.0), random_state=0).fit(X[:100], np.full(100, 7.0))
    np.testing.assert_allclose(constant.predict_interval(X[:5]), 7.0, atol=1e-9)
    line = KernelRegressor("linear", alpha=1e-9, random_state=0).fit(X[:200], X[:200] @ [1.0, -2.0])
    ends = line.predict_interval(X[:5])
    assert np.diff(ends).max() < 1e-3


def test_a_memory_limit_leaves_out_nothing_rather_than_fewer_functions():
    settings = {"kernel": Gaussian(1.0), "basis": Landmarks(900), "solver": "ridge"}
    model = KernelRegressor(**settings, memory_limit="120MB", random_state=0).fit(X, Y)
    assert model.fit_.plan.size == 900
    assert model.fit_.intervals is None


@pytest.mark.parametrize(
    ("y", "weight", "message"),
    [
        (np.r_[np.nan, Y[1:100]], None, "y must be finite"),
        (Y[:100], np.full(100, -1.0), "sample_weight must be finite and at least 0"),
        (Y[:100], np.zeros(100), "not all 0"),
        (Y[:100], np.ones(99), "must have 100 entries"),
    ],
)
def test_calibration_refuses_rows_that_say_nothing(y, weight, message):
    model = KernelRegressor(Gaussian(1.0), random_state=0).fit(X[:100], Y[:100])
    with pytest.raises(ValueError, match=message):
        model.calibrate(X[:100], y, weight)
