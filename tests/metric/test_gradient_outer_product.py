"""The average gradient outer product: exact where it is known, and a sum over any shards."""

import numpy as np
import pytest
from scipy import sparse

from mercer import (
    Gaussian,
    KernelClassifier,
    KernelRanker,
    KernelRegressor,
    LaplacianL1,
    LaplacianL2,
    Linear,
    Matern,
    Polynomial,
    RandomFeatures,
    Sketch,
)
from mercer.contracts import Reading
from mercer.engines import ThreadEngine
from mercer.metric import gradient_outer_product
from mercer.rows import ArraySource
from mercer.rows.rowset import RowSet
from mercer.rows.shards import cut

RNG = np.random.default_rng(0)
X = RNG.standard_normal((300, 4))
Y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2]
PLAIN = {"metric": None, "scale": None, "random_state": 0}
READING = Reading(64, 2)


def rows_of(X, weight=None):
    return RowSet.in_one_place(ArraySource(X, weight=weight))


def fitted(kernel, basis="landmarks", **settings):
    return KernelRegressor(kernel, basis, 1e-3, **PLAIN, **settings).fit(X, Y).fit_


def reference(found, rows, weight=None):
    """The same, from the gradients of all rows at once."""
    gradients = found.basis.gradients(found.coefficients)(rows)
    weight = np.ones(len(rows)) if weight is None else weight
    return np.einsum("oij,oik,i->jk", gradients, gradients, weight) / weight.sum()


def test_of_a_linear_function_it_is_the_outer_product_of_its_coefficients():
    slope = np.array([3.0, -1.0, 0.0, 0.5])
    model = KernelRegressor(Linear(), alpha=1e-12, **PLAIN).fit(X, X @ slope)
    G = gradient_outer_product(rows_of(X), model.basis_, model.dual_coef_, READING)
    np.testing.assert_allclose(G, np.outer(slope, slope), atol=1e-6)


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(1.5),
        Gaussian(np.array([1.0, 2.0, 3.0, 4.0])),
        Matern(1.5, 2.0),
        Matern(2.5, 2.0),
        LaplacianL2(2.0),
        LaplacianL1(3.0),
        Gaussian(2.0) + Linear(),
        Gaussian(2.0) * Polynomial(2),
    ],
    ids=repr,
)
def test_it_sums_over_blocks(kernel):
    found = fitted(kernel)
    expected = reference(found, X)
    G = gradient_outer_product(rows_of(X), found.basis, found.coefficients, READING)
    np.testing.assert_allclose(G, expected, rtol=1e-9, atol=1e-12 * expected.max())
    g = gradient_outer_product(rows_of(X), found.basis, found.coefficients, READING, diagonal=True)
    np.testing.assert_allclose(g, np.diag(expected), rtol=1e-9)


@pytest.mark.parametrize("basis", ["full", RandomFeatures(50), Sketch(40)], ids=repr)
def test_it_works_for_every_basis(basis):
    found = fitted(Gaussian(1.5), basis, dtype="float64")
    G = gradient_outer_product(rows_of(X), found.basis, found.coefficients, READING)
    np.testing.assert_allclose(G, reference(found, X), rtol=1e-8, atol=1e-10)


def test_a_weight_of_two_is_a_row_twice():
    found = fitted(Gaussian(1.5))
    weight = np.where(np.arange(len(X)) < 50, 2.0, 1.0)
    twice = np.vstack([X, X[:50]])
    weighted = gradient_outer_product(rows_of(X, weight), found.basis, found.coefficients, READING)
    repeated = gradient_outer_product(rows_of(twice), found.basis, found.coefficients, READING)
    np.testing.assert_allclose(weighted, repeated, rtol=1e-12)


@pytest.mark.parametrize("shards", [1, 3, 7])
def test_shards_add_up_to_one_place(shards):
    found = fitted(Matern(1.5, 2.0))
    one = gradient_outer_product(rows_of(X), found.basis, found.coefficients, READING)
    parts = cut(ArraySource(X, Y), shards, np.random.default_rng(0))
    rows = RowSet.over_shards(ThreadEngine(), parts, lambda source: None)
    many = gradient_outer_product(rows, found.basis, found.coefficients, READING)
    np.testing.assert_allclose(many, one, rtol=1e-10, atol=1e-13)
    sent = {exchange.what: exchange for exchange in rows.sent.exchanges}
    assert sent["gradient outer product"].from_shard == 4 * 5 // 2 + 1  # a triangle, and the weight


def test_sparse_rows_have_the_same_diagonal():
    thin = np.where(RNG.random(X.shape) < 0.5, X, 0.0)
    model = KernelRegressor(Gaussian(1.5), "landmarks", 1e-3, **PLAIN)
    model.fit(sparse.csr_matrix(thin), Y)
    found = model.fit_
    args = (found.basis, found.coefficients, READING)
    expected = gradient_outer_product(rows_of(thin), *args, diagonal=True)
    got = gradient_outer_product(rows_of(sparse.csr_matrix(thin)), *args, diagonal=True)
    np.testing.assert_allclose(got, expected, rtol=1e-10)


def test_outputs_are_summed():
    classes = np.digitize(X[:, 0], [-0.5, 0.5])
    found = KernelClassifier(Gaussian(1.5), "landmarks", 1e-3, **PLAIN).fit(X, classes).fit_
    G = gradient_outer_product(rows_of(X), found.basis, found.coefficients, READING)
    np.testing.assert_allclose(G, reference(found, X), rtol=1e-9, atol=1e-12)


def test_rows_of_a_ranking_count_as_much_as_their_pairs():
    query = np.repeat([0, 1, 2], [200, 60, 40])
    model = KernelRanker(Gaussian(1.5), "landmarks", 1e-3, **PLAIN).fit(X, Y, query)
    found, source = model.fit_, ArraySource(X, Y).with_queries(query)
    targets = model._kind().of_source(source)
    G = gradient_outer_product(
        RowSet.in_one_place(source), found.basis, found.coefficients, READING, targets=targets
    )
    weight = np.array([200.0, 60.0, 40.0])[query]
    np.testing.assert_allclose(G, reference(found, X, weight), rtol=1e-9, atol=1e-12)


def test_in_scaled_columns_it_does_not_depend_on_units():
    from mercer.columns import column_sums
    from mercer.kernels import InMetric, Metric

    results = []
    for units in (np.ones(4), np.array([1e-3, 1.0, 50.0, 1e6])):
        rows = rows_of(X * units)
        scaling = column_sums(rows).scaling()
        kernel = InMetric(Gaussian(2.0), Metric(scaling))
        model = KernelRegressor(kernel, "landmarks", 1e-3, **PLAIN).fit(X * units, Y)
        args = (rows, model.basis_, model.dual_coef_, READING)
        results.append(gradient_outer_product(*args, scaling=scaling))
    np.testing.assert_allclose(results[1], results[0], rtol=1e-6)
