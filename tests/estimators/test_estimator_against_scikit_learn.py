"""The same models in scikit-learn's terms."""

import numpy as np
import pytest
from sklearn.kernel_approximation import Nystroem
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge, RidgeClassifier

from cases import KERNELS, classifier, regressor, rows, targets, weights
from mercer import (
    ArcCosine,
    Gaussian,
    Landmarks,
    LaplacianL1,
    Linear,
    Matern,
    Polynomial,
    RandomFeatures,
)
from pairs import over_each

NEW = rows(12, seed=9)
SAME = {
    "rbf": (Gaussian(0.5), {"kernel": "rbf", "gamma": 1 / (2 * 0.5**2)}),
    "laplacian": (LaplacianL1(0.5), {"kernel": "laplacian", "gamma": 2.0}),
    "polynomial": (
        Polynomial(2, 0.7, 0.3),
        {"kernel": "poly", "degree": 2, "gamma": 0.7, "coef0": 0.3},
    ),
    "linear": (Linear(), {"kernel": "linear"}),
}


@over_each(name=SAME, outputs=[1, 2])
def test_kernel_ridge_at_alpha_over_n(name, outputs):
    kernel, theirs = SAME[name]
    X = rows()
    Y = targets(X, outputs)
    expected = KernelRidge(alpha=0.1, **theirs).fit(X, Y).predict(NEW)
    ours = regressor(kernel, "full", alpha=0.1 / 30, fit_intercept=False).fit(X, Y)
    np.testing.assert_allclose(ours.predict(NEW), expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("name", SAME)
def test_kernel_ridge_with_weights_at_alpha_over_their_sum(name):
    kernel, theirs = SAME[name]
    X, w = rows(), weights()
    y = targets(X)
    expected = KernelRidge(alpha=0.1, **theirs).fit(X, y, w).predict(NEW)
    ours = regressor(kernel, "full", alpha=0.1 / w.sum(), fit_intercept=False).fit(X, y, w)
    np.testing.assert_allclose(ours.predict(NEW), expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("kernel", [Gaussian(0.5), Matern(1.5, 0.5), ArcCosine()], ids=str)
@pytest.mark.parametrize("intercept", [False, True], ids=["plain", "intercept"])
def test_random_features_are_ridge_on_the_transformed_rows(kernel, intercept):
    X, w = rows(), weights()
    y = targets(X)
    features = RandomFeatures(50, kernel=kernel, random_state=5).fit(X)
    expected = (
        Ridge(alpha=1e-3 * w.sum(), fit_intercept=intercept)
        .fit(features.transform(X), y, w)
        .predict(features.transform(NEW))
    )
    ours = regressor(kernel, RandomFeatures(50, random_state=5), 1e-3, fit_intercept=intercept).fit(
        X, y, w
    )
    np.testing.assert_allclose(ours.predict(NEW), expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("intercept", [False, True], ids=["plain", "intercept"])
def test_landmarks_are_ridge_on_nystroem_features(intercept):
    X = rows()
    y = targets(X)
    theirs = Nystroem(kernel="laplacian", gamma=2.0, n_components=10, random_state=0).fit(X)
    expected = (
        Ridge(alpha=1e-3 * 30, fit_intercept=intercept)
        .fit(theirs.transform(X), y)
        .predict(theirs.transform(NEW))
    )
    ours = regressor(
        LaplacianL1(0.5), Landmarks(sampling=theirs.components_), 1e-3, fit_intercept=intercept
    ).fit(X, y)
    np.testing.assert_allclose(ours.predict(NEW), expected, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("basis", ["full", "landmarks", "random_features"])
def test_the_linear_kernel_is_ridge(basis):
    X, w = rows(), weights()
    Y = targets(X, 2)
    expected = Ridge(alpha=1e-3 * w.sum()).fit(X, Y, w).predict(NEW)
    ours = regressor("linear", basis, 1e-3).fit(X, Y, w)
    np.testing.assert_allclose(ours.predict(NEW), expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("classes", [2, 3])
def test_a_classifier_is_ridge_on_signs(classes):
    X = rows()
    y = np.digitize(X[:, 0], np.linspace(0, 1, classes + 1)[1:-1])
    features = RandomFeatures(50, kernel=Gaussian(0.5), random_state=5).fit(X)
    theirs = RidgeClassifier(alpha=1e-3 * 30).fit(features.transform(X), y)
    ours = classifier(Gaussian(0.5), RandomFeatures(50, random_state=5), 1e-3).fit(X, y)
    np.testing.assert_allclose(
        ours.decision_function(NEW),
        theirs.decision_function(features.transform(NEW)),
        rtol=1e-8,
        atol=1e-8,
    )
    np.testing.assert_array_equal(ours.predict(NEW), theirs.predict(features.transform(NEW)))


def test_the_median_bandwidth_is_scikit_learns_gamma():
    X = rows()
    bandwidth = Gaussian().fitted(X).bandwidth
    expected = KernelRidge(kernel="rbf", gamma=1 / (2 * bandwidth**2), alpha=0.03)
    ours = regressor(alpha=1e-3, fit_intercept=False).fit(X, targets(X))
    np.testing.assert_allclose(
        ours.predict(NEW), expected.fit(X, targets(X)).predict(NEW), rtol=1e-8
    )


def test_every_kernel_is_a_callable_for_scikit_learn():
    X = rows()
    K = KERNELS["matern_32"][0]
    expected = (
        KernelRidge(kernel="precomputed", alpha=0.03).fit(K(X), targets(X)).predict(K(NEW, X))
    )
    ours = regressor(K, "full", 1e-3, fit_intercept=False).fit(X, targets(X))
    np.testing.assert_allclose(ours.predict(NEW), expected, rtol=1e-8)
