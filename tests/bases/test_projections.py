"""Random matrices: the fast transforms are the matrices written out, and isometries on average."""

import numpy as np
import pytest
from scipy.linalg import hadamard

import reference
from cases import rows, sketch_matrix
from mercer import Gaussian, Sketch
from mercer.bases.projections import walsh_hadamard
from mercer.bases.sketch import KINDS
from pairs import over_pairs

over_kinds = pytest.mark.parametrize("kind", KINDS)


def fitted(kind, n, size):
    return Sketch(size, kind, kernel=Gaussian(0.2), random_state=3).fit(rows(n))


@over_pairs(kind=KINDS, n=[1, 5, 16, 30])
def test_every_form_of_the_matrix_is_the_same(kind, n):
    drawn = fitted(kind, n, (n + 1) // 2).projection_
    G = drawn.columns(np.arange(n))
    rng = np.random.default_rng(0)
    block, c = rng.standard_normal((6, n)), rng.standard_normal((len(G), 2))
    found = drawn.bound("float64")(block.copy(), np.empty((6, len(G))))
    np.testing.assert_allclose(found, block @ G.T, atol=1e-12)
    np.testing.assert_allclose(drawn.transposed(c), G.T @ c, atol=1e-12)
    some = np.array([1, 4]) % n
    np.testing.assert_allclose(drawn.columns(some), G[:, some], atol=1e-15)
    np.testing.assert_allclose(drawn.chosen(np.array([0])).columns(some), G[:1, some], atol=1e-15)
    thin = drawn.bound("float32")(block.astype(np.float32), np.empty((6, len(G)), np.float32))
    assert thin.dtype == np.float32
    np.testing.assert_allclose(thin, block @ G.T, atol=1e-5)


@pytest.mark.parametrize("size", [1, 2, 8, 16, 32, 512])
def test_the_fast_walsh_hadamard_transform(size):
    X = np.random.default_rng(0).standard_normal((3, size))
    np.testing.assert_allclose(walsh_hadamard(X.copy()), X @ hadamard(size), atol=1e-11)


def test_references_are_orthogonal():
    for Q in (reference.hadamard_matrix(16), reference.cosine_matrix(15)):
        np.testing.assert_allclose(Q @ Q.T, np.eye(len(Q)), atol=1e-12)


@over_kinds
@pytest.mark.parametrize("n", [16, 21])
def test_on_average_the_matrix_is_an_isometry(kind, n):
    rng = np.random.default_rng(0)
    draws = [KINDS[kind].draw(n, 6, rng).columns(np.arange(n)) for _ in range(4000)]
    mean = np.mean([G.T @ G for G in draws], axis=0)
    np.testing.assert_allclose(mean, np.eye(n), atol=0.05)


def test_entries_are_of_their_kind():
    G = {kind: sketch_matrix(fitted(kind, 300, 50)) for kind in KINDS}
    for kind in ("rademacher", "hadamard"):
        np.testing.assert_allclose(np.abs(G[kind]), 1 / np.sqrt(50))
    assert len(np.unique(G["gaussian"])) == G["gaussian"].size
    for kind in ("hadamard", "dct"):
        assert len(np.unique(fitted(kind, 300, 50).projection_.rows)) == 50
