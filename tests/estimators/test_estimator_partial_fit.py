"""Rows that come and go: batches are one fit, forgetting is never having seen."""

import numpy as np
import pytest

from cases import (
    CASES,
    FILTERED,
    GIVEN,
    TYPICAL,
    Case,
    classifier,
    fitted,
    regressor,
    rows,
    targets,
    weights,
)
from mercer import (
    GCV,
    KCGM,
    Gaussian,
    GradientDescent,
    KFold,
    Landmarks,
    RandomFeatures,
    StopAfter,
    StopOnHeldOut,
    load,
    save,
)
from pairs import over_each

#: The functions do not depend on the rows: batches and all rows at once have the same.
FIXED = [
    case for case in CASES + FILTERED if case.basis in ("given", "random_features", "orthogonal")
]
over_fixed = pytest.mark.parametrize("case", FIXED, ids=str)
over_few = pytest.mark.parametrize("case", [case for case in FIXED if case in TYPICAL], ids=str)
NEW = rows(12, seed=9)
GIVEN_GAUSSIAN = Case("gaussian", "given", "float64")


def batches(number, *arrays):
    """Cut arrays into batches of rows."""
    return zip(*(np.array_split(array, number) for array in arrays), strict=True)


def relative(case):
    return 1e-8 if case.dtype == "float64" else 1e-4


@over_fixed
def test_batches_are_one_fit(case):
    X, w = rows(), weights()
    y = targets(X)
    whole = fitted(case, weighted=True)
    for number in (1, 5):
        model = case.estimator()
        for part in batches(number, X, y, w):
            assert model.partial_fit(*part) is model
        assert model.moments_.rows == len(X)
        np.testing.assert_allclose(
            model.predict(NEW), whole.predict(NEW), rtol=relative(case), atol=relative(case)
        )


@over_few
def test_a_fit_goes_on_with_further_rows(case):
    X, y = rows(), targets(rows(), 2)
    whole = case.estimator().fit(X, y)
    model = case.estimator().fit(X[:20], y[:20]).partial_fit(X[20:], y[20:])
    np.testing.assert_allclose(
        model.predict(NEW), whole.predict(NEW), rtol=relative(case), atol=relative(case)
    )


@over_fixed
def test_forgotten_rows_were_never_seen(case):
    X, w = rows(), weights()
    y = targets(X)
    rest = case.estimator().fit(X[10:], y[10:], w[10:])
    model = case.estimator().fit(X, y, w).forget(X[:10], y[:10], w[:10])
    assert model.moments_.rows == 20
    # Subtracting leaves the rounding of what was there.
    np.testing.assert_allclose(model.predict(NEW), rest.predict(NEW), atol=100 * relative(case))


def test_rows_forgotten_and_given_again_change_nothing():
    X, y = rows(), targets(rows())
    model = GIVEN_GAUSSIAN.estimator().fit(X, y)
    before = model.predict(NEW)
    model.forget(X[:10], y[:10]).partial_fit(X[:10], y[:10])
    np.testing.assert_allclose(model.predict(NEW), before, atol=1e-7)


def test_the_first_batch_places_the_landmarks():
    X, y = rows(), targets(rows())
    model = regressor(Gaussian(0.5), "landmarks", 1e-3, random_state=0)
    model.partial_fit(X[:20], y[:20]).partial_fit(X[20:], y[20:])
    same = regressor(Gaussian(0.5), Landmarks(sampling=X[:20]), 1e-3).fit(X, y)
    np.testing.assert_allclose(model.predict(NEW), same.predict(NEW), atol=1e-8)


@pytest.mark.parametrize("weighted", [False, True], ids=["equal", "weighted"])
@pytest.mark.parametrize("alpha", [1e-3, "auto"])
def test_further_rows_after_an_automatic_full_kernel(weighted, alpha):
    """The exact fit had a function at every row: these stay, as landmarks."""
    X, y = rows(), 100 + 5 * targets(rows())
    w = weights() if weighted else np.ones(len(X))
    model = regressor("laplacian_l1", alpha=alpha).fit(X[:20], y[:20], w[:20])
    assert type(model.basis_).__name__ == "FullKernel"
    model.partial_fit(X[20:], y[20:], w[20:])
    same = regressor(model.kernel_, Landmarks(sampling=X[:20]), alpha).fit(X, y, w)
    assert model.alpha_ == pytest.approx(same.alpha_, rel=1e-5)
    np.testing.assert_allclose(model.predict(NEW), same.predict(NEW), rtol=1e-6)


def test_forgetting_after_an_automatic_full_kernel():
    X, y = rows(), targets(rows())
    model = regressor("laplacian_l1", alpha=1e-3).fit(X, y).forget(X[:10], y[:10])
    same = regressor(model.kernel_, Landmarks(sampling=X), 1e-3).fit(X[10:], y[10:])
    np.testing.assert_allclose(model.predict(NEW), same.predict(NEW), atol=1e-7)


def test_the_chosen_alpha_is_that_of_all_rows():
    X, y, w = rows(), targets(rows()), weights()
    whole = GIVEN_GAUSSIAN.estimator(alpha="auto", selection="gcv").fit(X, y, w)
    model = GIVEN_GAUSSIAN.estimator(alpha="auto", selection="gcv")
    for part in batches(3, X, y, w):
        model.partial_fit(*part)
    for key in ("alpha", "mean_squared_error"):
        np.testing.assert_allclose(model.cv_results_[key], whole.cv_results_[key], rtol=1e-6)
    assert model.alpha_ == pytest.approx(whole.alpha_)


def test_folds_are_kept_over_batches():
    X, y = rows(), targets(rows())
    model = GIVEN_GAUSSIAN.estimator(alpha="auto", selection=KFold(3))
    for part in batches(3, X, y):
        model.partial_fit(*part)
    assert model.moments_.rows == 30
    assert len(model.fit_.folds) == 3
    assert np.isfinite(model.cv_results_["mean_squared_error"]).all()


def test_the_origin_of_y_stays_that_of_the_first_batch_and_does_no_harm():
    X, y = rows(), targets(rows())
    y = np.where(np.arange(30) < 10, y, 1e4 * y + 1e5)
    whole = GIVEN_GAUSSIAN.estimator().fit(X, y)
    model = GIVEN_GAUSSIAN.estimator()
    for part in batches(3, X, y):
        model.partial_fit(*part)
    np.testing.assert_allclose(model.predict(NEW), whole.predict(NEW), rtol=1e-7)


def test_classes_may_be_announced():
    X = rows()
    y = np.array(["low", "middle", "top"])[np.digitize(X[:, 0], [0.3, 0.6])]
    order = np.argsort(y, kind="stable")  # the first batch lacks two of three classes
    X, y = X[order], y[order]
    settings = {"kernel": Gaussian(0.5), "basis": Landmarks(sampling=GIVEN), "alpha": 1e-3}
    whole = classifier(**settings).fit(X, y)
    model = classifier(**settings)
    for part in batches(5, X, y):
        model.partial_fit(*part, classes=["top", "low", "middle"])
    assert model.classes_.tolist() == ["low", "middle", "top"]
    np.testing.assert_allclose(
        model.decision_function(NEW), whole.decision_function(NEW), atol=1e-8
    )


def test_a_first_batch_of_one_class_says_how_to_announce_the_others():
    model = classifier(basis="landmarks")
    with pytest.raises(ValueError, match="one class") as caught:
        model.partial_fit(rows()[:5], np.zeros(5))
    assert "classes=" in str(caught.value)


def test_a_class_that_comes_later_is_refused_with_its_row():
    X, y = rows(), np.arange(30) % 2
    model = classifier(basis="landmarks", alpha=1e-3).partial_fit(X, y)
    before = model.predict(NEW)
    with pytest.raises(ValueError, match=r"a class that is not known: .*7.* at row 3"):
        model.partial_fit(X, np.where(np.arange(30) == 3, 7, y))
    np.testing.assert_array_equal(model.predict(NEW), before)


def test_announced_classes_do_not_outlive_a_batch_that_failed():
    X, y = rows(), np.arange(30) % 2
    model = classifier(basis="landmarks", alpha=1e-3)
    with pytest.raises(ValueError, match="one value per row"):
        model.partial_fit(X, y[:5], classes=[5, 6, 7])
    assert model.fit(X, y).classes_.tolist() == [0, 1]


def test_announced_classes_that_contradict_the_first_ones_are_refused():
    X, y = rows(), np.arange(30) % 2
    model = classifier(basis="landmarks", alpha=1e-3).partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="classes"):
        model.partial_fit(X, y, classes=[0, 1, 2])


def bad_batches():
    X, y = rows(), targets(rows())
    hole = X.copy()
    hole[25, 1] = np.nan
    holes = y.copy()
    holes[25] = np.inf
    return {
        "NaN in X": ((hole, y), "NaN at row 25, column 1"),
        "infinity in y": ((X, holes), "y contains infinity"),
        "columns": ((X[:, :1], y), "1 features"),
        "length": ((X, y[:5]), "one value per row"),
        "weights": ((X, y, -weights()), "sample_weight must be finite and at least 0"),
        "outputs": ((X, np.column_stack([y, y])), "y must have 1 columns as before, got 2"),
    }


@over_each(name=bad_batches(), method=["partial_fit", "forget"])
def test_a_bad_batch_leaves_the_model_as_it_was(name, method):
    batch, words = bad_batches()[name]
    X, y = rows(), targets(rows())
    model = GIVEN_GAUSSIAN.estimator().set_params(missing="error").fit(X, y)
    before = model.predict(NEW)
    with pytest.raises(ValueError, match=words):
        getattr(model, method)(*batch)
    np.testing.assert_array_equal(model.predict(NEW), before)
    whole = GIVEN_GAUSSIAN.estimator().fit(np.vstack([X, X]), np.concatenate([y, y]))
    np.testing.assert_allclose(model.partial_fit(X, y).predict(NEW), whole.predict(NEW), atol=1e-8)


def test_a_first_batch_that_failed_leaves_nothing_behind():
    X, y = rows(), targets(rows())
    hole = X.copy()
    hole[25, 1] = np.nan
    model = GIVEN_GAUSSIAN.estimator().set_params(missing="error")
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(hole, y)
    three = np.column_stack([X, X[:, 0]])
    model.set_params(basis=Landmarks(sampling=three[:5]))
    assert model.partial_fit(three, np.column_stack([y, y])).predict(three).shape == (30, 2)


def test_the_full_kernel_has_no_batches_and_says_why():
    model = regressor(basis="full")
    for method in ("partial_fit", "forget"):
        assert not hasattr(model, method)
    with pytest.raises(AttributeError, match="partial_fit") as caught:
        model.partial_fit(rows(), targets(rows()))
    reason = str(caught.value) + str(caught.value.__cause__)
    assert "use basis='landmarks' or 'random_features'" in reason


def test_a_precomputed_kernel_has_no_batches():
    assert not hasattr(regressor(kernel="precomputed"), "partial_fit")


def test_forgetting_all_rows_is_refused():
    X, y = rows(), targets(rows())
    model = GIVEN_GAUSSIAN.estimator().fit(X, y)
    with pytest.raises(ValueError, match="forget would leave no rows: the model has 30, 30"):
        model.forget(X, y)


def test_forgetting_before_fitting_is_refused():
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError, match="not fitted yet"):
        regressor(basis="landmarks").forget(rows(), targets(rows()))


def reason(model, method):
    """Return why a model has no such method."""
    assert not hasattr(model, method)
    with pytest.raises(AttributeError) as caught:
        getattr(model, method)
    return str(caught.value.__cause__)


def test_forgetting_with_folds_is_refused_with_a_way_out():
    X, y = rows(), targets(rows())
    model = GIVEN_GAUSSIAN.estimator(alpha="auto", selection="kfold").fit(X, y)
    assert "which fold a row was dealt to, by 5-fold" in reason(model, "forget")
    model.set_params(selection="gcv")  # its sums are those of folds nevertheless
    with pytest.raises(ValueError, match="does not know which fold"):
        model.forget(X[:5], y[:5])
    for solver in (KCGM(), GradientDescent(StopOnHeldOut())):
        words = reason(GIVEN_GAUSSIAN.estimator(solver=solver), "forget")
        assert words.endswith("use stop=StopAfter(steps)")
    assert hasattr(GIVEN_GAUSSIAN.estimator(solver=KCGM(StopAfter(3))), "forget")


def test_leave_one_out_needs_the_rows_and_says_so():
    X, y = rows(), targets(rows())
    model = GIVEN_GAUSSIAN.estimator(alpha="auto", selection="loo").fit(X[:20], y[:20])
    for method in ("partial_fit", "forget"):
        assert "leave-one-out on all rows would have to read rows" in reason(model, method)
    model.set_params(selection=GCV()).partial_fit(X[20:], y[20:])
    assert model.moments_.rows == 30
    assert hasattr(model.set_params(selection="loo", alpha=1e-3), "partial_fit")


def test_a_model_without_sums_has_no_batches(tmp_path):
    X, y = rows(), targets(rows())
    shards = {"shards": 2, "combine": "average", "random_state": 0}
    model = GIVEN_GAUSSIAN.estimator(**shards)
    assert hasattr(model, "partial_fit")  # whose first rows are summed
    assert "its moments stayed with the shards" in reason(model.fit(X, y), "partial_fit")
    kept = load(save(GIVEN_GAUSSIAN.estimator().fit(X, y), tmp_path / "model"))
    assert "loaded from a file without its moments" in reason(kept, "forget")


def test_folds_asked_for_too_late_are_refused_in_words_that_fit():
    """The moments were summed in one piece: that is what is wrong, not the number of rows."""
    X, y = rows(), targets(rows())
    model = GIVEN_GAUSSIAN.estimator(alpha="auto", selection="gcv").fit(X[:20], y[:20])
    model.set_params(selection="kfold")
    with pytest.raises(ValueError, match="fold") as caught:
        model.partial_fit(X[20:], y[20:])
    assert "at least 2 rows" not in str(caught.value)


def test_random_features_of_a_median_bandwidth_stay_those_of_the_first_batch():
    X, y = rows(), targets(rows())
    model = regressor(basis=RandomFeatures(20, random_state=0), alpha=1e-3)
    model.partial_fit(X[:10], y[:10])
    bandwidth = model.kernel_.bandwidth
    model.partial_fit(X[10:], y[10:])
    assert model.kernel_.bandwidth == bandwidth == Gaussian().fitted(X[:10]).bandwidth
