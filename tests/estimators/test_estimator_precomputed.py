"""A precomputed kernel is the same kernel computed inside."""

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score

from cases import rows, targets, weights
from mercer import Gaussian, KernelClassifier, KernelRegressor, Landmarks, Precomputed, Sketch
from pairs import over_each

X, Y, W = rows(), targets(rows()), weights()
NEW = rows(12, seed=9)
K = Gaussian(0.5)
BASES = {
    "full": "full",
    "auto": "auto",
    "landmarks": Landmarks(10, random_state=0),
    "sketch": Sketch(10, random_state=0),
}
over_bases = pytest.mark.parametrize("basis", BASES)


def both(basis, cls=KernelRegressor, **settings):
    """An unfitted model of the precomputed kernel, and one of the kernel itself."""
    settings = {"basis": BASES[basis], "alpha": 1e-3, "random_state": 0, **settings}
    return cls(Precomputed(), **settings), cls(K, **settings)


@over_each(basis=BASES, weighted=[False, True])
def test_it_is_the_kernel_computed_inside(basis, weighted):
    given, inside = both(basis)
    w = W if weighted else None
    found = given.fit(K(X), Y, w).predict(K(NEW, X))
    np.testing.assert_allclose(found, inside.fit(X, Y, w).predict(NEW), atol=1e-8)


@over_each(basis=BASES, selection=["gcv", "loo", "kfold"])
def test_its_scores_are_those_of_the_kernel_computed_inside(basis, selection):
    settings = {"alpha": "auto", "selection": selection, "alphas": [1e-4, 1e-2, 1.0]}
    given, inside = both(basis, **settings)
    np.testing.assert_allclose(
        given.fit(K(X), Y).cv_results_["mean_squared_error"],
        inside.fit(X, Y).cv_results_["mean_squared_error"],
        rtol=1e-6,
    )


@over_bases
def test_rows_of_weight_zero_keep_their_columns(basis):
    """At prediction the matrix has a column for every row of the fit, those of weight 0 too."""
    given, inside = both(basis)
    w = np.where(np.arange(30) % 3 == 0, 0.0, W)
    found = given.fit(K(X), Y, w).predict(K(NEW, X))
    np.testing.assert_allclose(found, inside.fit(X, Y, w).predict(NEW), atol=1e-8)


@over_bases
def test_it_classifies(basis):
    given, inside = both(basis, KernelClassifier)
    y = np.digitize(Y, [-0.3, 0.3])
    np.testing.assert_array_equal(
        given.fit(K(X), y).predict(K(NEW, X)), inside.fit(X, y).predict(NEW)
    )


def test_cross_validation_takes_rows_and_columns():
    given, inside = both("full")
    np.testing.assert_allclose(
        cross_val_score(given, K(X), Y, cv=3), cross_val_score(inside, X, Y, cv=3), atol=1e-8
    )


def test_it_is_its_name():
    by_name = KernelRegressor("precomputed", alpha=1e-3).fit(K(X), Y).predict(K(NEW, X))
    by_object = KernelRegressor(Precomputed(), alpha=1e-3).fit(K(X), Y).predict(K(NEW, X))
    np.testing.assert_array_equal(by_name, by_object)


@over_bases
def test_a_matrix_that_is_not_square_is_refused(basis):
    given, _ = both(basis)
    with pytest.raises(ValueError, match=r"square matrix K\(train, train\), got shape \(12, 30\)"):
        given.fit(K(NEW, X), Y[:12])


@over_bases
def test_a_matrix_of_other_columns_is_refused_at_prediction(basis):
    given, _ = both(basis)
    given.fit(K(X), Y)
    with pytest.raises(ValueError, match="X has 12 features, but KernelRegressor is expecting 30"):
        given.predict(K(X, NEW))


def test_random_features_of_a_matrix_are_refused():
    with pytest.raises(ValueError, match="has no random features"):
        KernelRegressor("precomputed", "random_features").fit(K(X), Y)
