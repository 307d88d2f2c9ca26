"""selection="auto": rows left out with their landmarks equal refits; GCV where that cannot be."""

import numpy as np
import pytest

import mercer.leaving_out.leave_one_out as leave_one_out
import reference
from cases import Case, regressor, rows, targets, weights
from mercer import (
    AutoSelection,
    FullKernel,
    Gaussian,
    KernelClassifier,
    KernelRanker,
    KernelRegressor,
    Landmarks,
    LaplacianL1,
    LaplacianL2,
    Linear,
    Polynomial,
    RandomFeatures,
)
from mercer.leaving_out.leave_one_out import LeftOut, left_out_squares
from pairs import over_pairs

ALPHAS = np.array([1e-4, 1e-2, 1.0])
GCV = "generalized cross-validation"


def data(weighted):
    """Rows, two outputs in very different units, and weights."""
    X = rows()
    Y = targets(X, 2) * [1.0, 300.0] + [5.0, -1000.0]
    return X, Y, weights() if weighted else np.ones(len(X))


def scores(model, *rows):
    return model.fit(*rows).cv_results_["mean_squared_error"]


def without(kernel, points, at, X, Y, w, alpha, intercept):
    """Squared errors of refits without a row, and without the landmarks in ``at``, if any."""
    errors = np.empty(len(X))
    for i in range(len(X)):
        rest, others = np.arange(len(X)) != i, at != i
        c, b = reference.primal_ridge(
            kernel(X[rest], points[others]),
            kernel(points[others]),
            Y[rest],
            w[rest],
            alpha * w.sum() / w[rest].sum(),
            intercept,
        )
        errors[i] = np.sum((Y[i] - kernel(X[i : i + 1], points[others]) @ c - b) ** 2)
    return errors


@over_pairs(
    kernel=[LaplacianL1(0.8), LaplacianL2(0.7), Gaussian(0.3)],
    intercept=[False, True],
    weighted=[False, True],
    kept=[0, 6, 10**6],
)
def test_rows_with_their_landmarks_are_left_out_as_by_refits(
    kernel, intercept, weighted, kept, monkeypatch
):
    monkeypatch.setattr(leave_one_out, "FEW", kept)
    X, Y, w = data(weighted)
    model = KernelRegressor(
        kernel, Landmarks(10), alphas=ALPHAS, fit_intercept=intercept, random_state=0
    )
    found = scores(model, X, Y, w if weighted else None)
    basis, tau = model.basis_, min(0.5, kept / len(X))
    expected = []
    for alpha in ALPHAS:
        common = (X, Y, w, alpha, intercept)
        out = without(kernel, basis.landmarks_, basis.indices_, *common)
        stays = without(kernel, basis.landmarks_, np.full(10, -1), *common)
        expected.append(np.average(tau * stays + (1 - tau) * out, weights=w))
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert model.cv_results_["criterion"] == "leave-one-out on all 30 rows"


@pytest.mark.parametrize("basis", ["full", "given", "random_features"])
@pytest.mark.parametrize("weighted", [False, True], ids=["equal", "weighted"])
def test_without_landmarks_at_rows_it_is_leave_one_out(basis, weighted):
    X, Y, w = data(weighted)
    one, other = (
        scores(
            Case("gaussian", basis, "float64").estimator(
                alpha="auto", alphas=ALPHAS, selection=selection
            ),
            X,
            Y,
            w,
        )
        for selection in ("auto", "loo")
    )
    np.testing.assert_allclose(one, other, rtol=1e-9)


def test_a_landmark_at_every_row_is_the_full_kernel():
    X, Y, w = data(True)
    full, all_rows = (
        scores(KernelRegressor("laplacian_l1", basis, alphas=ALPHAS, random_state=0), X, Y, w)
        for basis in (FullKernel(), Landmarks(30))
    )
    np.testing.assert_allclose(all_rows, full, rtol=1e-6)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2)], ids=["linear", "polynomial"])
def test_rows_at_landmarks_that_others_depend_on_keep_their_functions(kernel):
    """Of 30 landmarks 25 or 15 depend on others: without its row, these span a landmark as well."""
    X, Y, w = data(True)
    full, few = (
        KernelRegressor(kernel, basis, alphas=ALPHAS, scale=None, metric=None, random_state=0)
        for basis in (FullKernel(), Landmarks(30))
    )
    np.testing.assert_allclose(scores(few, X, Y, w), scores(full, X, Y, w), rtol=1e-6)
    assert few.basis_.n_dropped_ > few.basis_.size


def test_it_is_the_default_and_its_sample_does_not_depend_on_the_seed():
    rng = np.random.default_rng(0)
    X = rng.random((300, 2))
    y = np.sin(6 * X[:, 0]) + 0.3 * rng.standard_normal(300)
    basis = Landmarks(sampling=X[:20])
    assert KernelRegressor().selection == KernelRanker().selection == "auto"
    found = [
        KernelRegressor(Gaussian(0.3), basis, selection=AutoSelection(100), random_state=seed)
        for seed in (0, 1)
    ]
    np.testing.assert_array_equal(scores(found[0], X, y), scores(found[1], X, y))
    assert found[0].cv_results_["criterion"] == "leave-one-out on 100 of 300 rows"
    assert "by leave-one-out on 100 of 300 rows" in str(found[0].summary())


def test_the_sample_must_be_a_count_of_rows():
    X, Y, _ = data(False)
    with pytest.raises(ValueError, match="sample of AutoSelection must be at least 1, got 0"):
        KernelRegressor(selection=AutoSelection(0)).fit(X, Y)


@pytest.mark.parametrize("intercept", [False, True], ids=["through zero", "intercept"])
@pytest.mark.parametrize("weighted", [False, True], ids=["equal", "weighted"])
@pytest.mark.filterwarnings("ignore::mercer.MercerWarning")
def test_where_labels_lack_only_the_label_is_left_out(intercept, weighted):
    X, Y, w = data(weighted)
    y = np.where(np.arange(len(X)) % 3 == 0, np.nan, Y[:, 0])
    settings = {"fit_intercept": intercept, "unlabelled": "use", "dtype": "float64"}
    basis = Landmarks(sampling=X[:8])
    model = KernelRegressor(Gaussian(0.5), basis, alphas=ALPHAS, **settings)
    found = scores(model, X, y, w)
    labelled = np.flatnonzero(~np.isnan(y))
    expected = []
    for alpha in ALPHAS:
        errors = []
        for i in labelled:
            fewer = np.where(np.arange(len(X)) == i, np.nan, y)
            other = KernelRegressor(Gaussian(0.5), basis, alpha, **settings).fit(X, fewer, w)
            errors.append((y[i] - other.predict(X[i : i + 1])[0]) ** 2)
        expected.append(np.average(errors, weights=w[labelled]))
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert model.cv_results_["criterion"] == "leave-one-out on all 20 rows"


@pytest.mark.filterwarnings("ignore::mercer.MercerWarning")
def test_labels_are_left_out_with_landmarks_at_their_rows():
    """All labels but those of a few far rows: as good as leaving out labels of all."""
    X, Y, w = data(True)
    y = np.where(np.arange(len(X)) % 7 == 0, np.nan, Y[:, 0])
    settings = {"alphas": ALPHAS, "unlabelled": "use", "random_state": 0}
    drawn = KernelRegressor(LaplacianL1(0.8), Landmarks(10), **settings)
    found = scores(drawn, X, y, w)
    points = drawn.basis_.landmarks_
    given = KernelRegressor(LaplacianL1(0.8), Landmarks(sampling=points), **settings)
    stays = scores(given, X, y, w)
    assert np.all(np.isfinite(found))
    assert np.all(found != stays)  # where a row takes its landmark along
    np.testing.assert_allclose(found, stays, rtol=1.0)


def test_rows_of_weight_zero_do_not_count():
    X, Y, w = data(True)
    basis = Landmarks(sampling=X[:8])
    w[10:20] = 0.0
    some = KernelRegressor(Gaussian(0.5), basis, alphas=ALPHAS)
    kept = w > 0
    np.testing.assert_allclose(
        scores(some, X, Y, w),
        scores(KernelRegressor(Gaussian(0.5), basis, alphas=ALPHAS), X[kept], Y[kept], w[kept]),
        rtol=1e-9,
    )
    assert some.cv_results_["criterion"] == "leave-one-out on all 20 rows"


@pytest.mark.parametrize("basis", ["full", "landmarks"])
def test_the_scale_of_weights_does_not_matter(basis):
    X, Y, w = data(True)
    one, other = (
        scores(KernelRegressor("laplacian_l1", basis, alphas=ALPHAS, random_state=0), X, Y, v)
        for v in (w, 1000 * w)
    )
    np.testing.assert_allclose(one, other, rtol=1e-9)


@pytest.mark.filterwarnings("ignore::mercer.MercerWarning")
def test_a_sample_of_rows_without_labels_is_all_rows():
    X, Y, _ = data(False)
    drawn = np.random.default_rng([0, 1]).choice(30, size=2, replace=False, shuffle=False)
    y = Y[:, 0].copy()
    y[drawn] = np.nan
    basis = Landmarks(sampling=X[:8])
    settings = {"alphas": ALPHAS, "unlabelled": "use"}
    few, all_rows = (
        scores(KernelRegressor(Gaussian(0.5), basis, selection=way, **settings), X, y)
        for way in (AutoSelection(1), "auto")
    )
    np.testing.assert_allclose(few, all_rows, rtol=1e-12)


def fallback(model, note, *rows):
    """The scores of GCV, and a word on why."""
    assert model.cv_results_["criterion"] == f"{GCV} ({note})"
    assert note in str(model.summary())
    by_gcv = type(model)(**{**model.get_params(deep=False), "selection": "gcv"}).fit(*rows)
    np.testing.assert_allclose(
        model.cv_results_["mean_squared_error"],
        by_gcv.cv_results_["mean_squared_error"],
        rtol=1e-6,
    )
    assert model.alpha_ == pytest.approx(by_gcv.alpha_)


def test_added_and_forgotten_rows_cannot_be_read_again():
    X, Y, _ = data(False)
    model = KernelRegressor(Gaussian(0.5), Landmarks(sampling=X[:8]))
    model.partial_fit(X[:20], Y[:20]).partial_fit(X[20:], Y[20:])
    fallback(model, "the rows cannot be read again", X, Y)
    model.forget(X[20:], Y[20:])
    fallback(model, "the rows cannot be read again", X[:20], Y[:20])


@pytest.mark.parametrize("basis", ["full", Landmarks(8)], ids=str)
def test_a_cutoff_has_no_shortcut(basis):
    X, Y, _ = data(False)
    model = KernelRegressor(Gaussian(0.5), basis, solver="cutoff", random_state=0).fit(X, Y)
    fallback(model, "a cut-off has no shortcut for leave-one-out", X, Y)


def test_rankings_leave_out_queries_unless_there_are_few():
    rng = np.random.default_rng(0)
    X, qid = rng.random((200, 2)), np.repeat(np.arange(20), 10)
    y = X[:, 0] + rng.random(20)[qid]
    model = KernelRanker(Gaussian(0.5), Landmarks(20), random_state=0)
    assert model.fit(X, y, qid).cv_results_["criterion"] == "leave-one-out on all 20 queries"
    by_query = scores(model.set_params(selection="loo"), X, y, qid)
    np.testing.assert_allclose(scores(model.set_params(selection="auto"), X, y, qid), by_query)
    model.set_params(selection=AutoSelection(120)).fit(X, y, qid)
    assert model.cv_results_["criterion"] == "leave-one-out on 12 of 20 queries"
    model.fit(X, y, qid // 5)
    fallback(model, "4 queries are too few to leave one out", X, y, qid // 5)


@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize("basis", ["auto", "landmarks", RandomFeatures(100)])
@pytest.mark.parametrize("constant", [False, True], ids=["y", "constant y"])
def test_a_few_rows(number, basis, constant):
    X, Y, _ = data(False)
    y = np.ones(number) if constant else Y[:number, 0]
    model = KernelRegressor(basis=basis, random_state=0).fit(X[:number], y)
    assert np.isfinite(model.predict(X)).all()
    if constant:
        np.testing.assert_allclose(model.predict(X), 1.0)


def test_equal_rows_and_perfect_fits():
    X = np.ones((40, 2))
    y = np.arange(40.0)
    for basis in ("full", "landmarks"):
        assert np.isfinite(KernelRegressor(basis=basis, random_state=0).fit(X, y).predict(X)).all()
    alphas = [0.0, 1e-6, 1e-3]
    Z = np.arange(40.0)[:, None] * 100  # rows that know nothing of each other
    for basis in ("full", "landmarks"):
        model = KernelRegressor(Gaussian(0.1), basis, alphas=alphas, random_state=0).fit(Z, y)
        error = model.cv_results_["mean_squared_error"]
        np.testing.assert_allclose(error, np.mean((y - y.mean()) ** 2) * (40 / 39) ** 2, rtol=1e-5)


def test_the_score_is_the_error_of_new_rows_where_leave_one_out_is_not(monkeypatch):
    monkeypatch.setattr(leave_one_out, "FEW", 0)
    rng = np.random.default_rng(0)
    X, new = rng.random((400, 5)), rng.random((3000, 5))

    def y(X):
        return np.sin(4 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(len(X))

    target, wanted = y(X), y(new)
    settings = {"basis": Landmarks(200), "alphas": [1e-6, 1e-3], "random_state": 0}
    auto = KernelRegressor("laplacian_l2", **settings).fit(X, target)
    loo = KernelRegressor("laplacian_l2", selection="loo", **settings).fit(X, target)
    tiny = KernelRegressor("laplacian_l2", Landmarks(200), 1e-6, random_state=0).fit(X, target)
    error = np.mean((tiny.predict(new) - wanted) ** 2)
    assert loo.cv_results_["mean_squared_error"][0] > 2 * error
    assert auto.cv_results_["mean_squared_error"][0] < 1.5 * error


def test_far_rows_do_not_mislead_it():
    """GCV sees the mean of leverages, and lets a far row be fitted exactly."""
    rng = np.random.default_rng(0)
    X = np.r_[rng.standard_normal((300, 2)), 8 * rng.standard_normal((100, 2))]
    y = np.sin(X[:, 0]) + rng.standard_normal(len(X))
    auto, gcv = (regressor(selection=selection).fit(X, y) for selection in ("auto", "gcv"))
    assert auto.alpha_ >= gcv.alpha_
    classes = KernelClassifier(random_state=0).fit(X, y > 0)
    assert classes.cv_results_["criterion"] == "leave-one-out on all 400 rows"


def test_a_leverage_of_one_up_to_rounding_takes_the_error_of_the_next_alpha():
    residual = np.array([[[1e-17], [0.5], [1.0]]])
    room = np.array([[1e-16, 0.25, 0.5]])
    found = left_out_squares(residual, room, np.ones(1), 1e-10)
    np.testing.assert_allclose(found, [[4.0, 4.0, 4.0]])


def test_labels_say_what_was_left_out():
    errors = np.ones(3)
    assert LeftOut(errors, 5, 5).label == "leave-one-out on all 5 rows"
    assert LeftOut(errors, 1, 1).label == "leave-one-out on the only row"
    assert LeftOut(errors, 40, 784, "queries").label == "leave-one-out on 40 of 784 queries"


@pytest.mark.parametrize("basis", [Landmarks(15), RandomFeatures(15)], ids=str)
def test_pilots_choose_by_it_as_well(basis):
    X, Y, _ = data(False)
    for settings in ({"solver": "pcg"}, {"shards": 2, "combine": "average"}):
        model = KernelRegressor(Gaussian(0.5), basis, random_state=0, **settings).fit(X, Y)
        assert model.cv_results_["criterion"] == "leave-one-out on all 30 rows"
