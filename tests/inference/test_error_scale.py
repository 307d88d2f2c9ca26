"""The scale of errors, and the pass over left-out rows, against the slow way."""

import numpy as np
import pytest
from sklearn.base import clone

from mercer import Gaussian, KernelRegressor, Landmarks
from mercer.bases import Whitener
from mercer.inference import error_scale, left_out_pass
from mercer.inference.left_out_pass import LeftOutRows, LeftOutShard
from mercer.moments import Moments


def held_rows(rows: int, functions: int, outputs: int, folds: int) -> LeftOutShard:
    rng = np.random.default_rng(0)
    H = rng.random((rows, functions)).astype(np.float32)
    Y = rng.normal(size=(rows, outputs))
    fold = rng.integers(folds, size=rows).astype(np.int16)
    found = LeftOutRows(0.5 * Y, Y, Y, rng.random(rows), fold)
    return LeftOutShard(found, H, None, None)


def test_every_row_has_the_scale_without_its_fold():
    held = held_rows(2 * error_scale.TILE + 7, functions=5, outputs=2, folds=6)
    rng = np.random.default_rng(1)
    models = [(rng.normal(size=(5, 2)), rng.normal(size=2)) for _ in range(4)]
    found = error_scale.roots_of(held, models)
    for row in range(0, len(found), 97):
        c, mu = models[1 + held.rows.fold[row] % 3]
        np.testing.assert_allclose(found[row], held.H[row].astype(float) @ c + mu, rtol=1e-12)


def test_models_of_the_scale_equal_refits(monkeypatch):
    """The model of all folds and those without each solve ``(S/W - mm' + alpha Gamma) c = b``."""
    held = held_rows(900, functions=12, outputs=2, folds=3)
    gram = np.cov(np.random.default_rng(2).normal(size=(12, 40)))
    whitener = Whitener(np.linalg.cholesky(gram), 12)
    chosen = {}

    def choose(system, alphas, criterion, rng):
        chosen["alpha"], *rest = original(system, alphas, criterion, rng)
        return chosen["alpha"], *rest

    original = error_scale.choose_alpha
    monkeypatch.setattr(error_scale, "choose_alpha", choose)
    models = error_scale._models_of(error_scale.scale_moments_of(held, 3), whitener)
    sizes = np.sqrt(np.abs(held.rows.errors))
    assert len(models) == 4
    for number, (c, mu) in enumerate(models):
        at = held.rows.fold != number - 1
        part = Moments.of(held.H[at], sizes[at], held.rows.weight[at])
        m, y = part.sum_h / part.weight, part.sum_y / part.weight
        A = part.gram / part.weight - np.outer(m, m) + chosen["alpha"] * gram
        expected = np.linalg.solve(A, part.cross / part.weight - np.outer(m, y))
        np.testing.assert_allclose(c, expected, rtol=1e-7, atol=1e-9 * np.abs(expected).max())
        np.testing.assert_allclose(mu, y - m @ expected, rtol=1e-7)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_tiles_and_pieces_of_the_pass_change_nothing(monkeypatch, dtype):
    rng = np.random.default_rng(0)
    X = rng.random((5000, 2))
    y = np.sin(5 * X[:, 0]) + 0.1 * rng.normal(size=5000)
    weight = rng.integers(0, 3, size=5000).astype(float)
    model = KernelRegressor(
        Gaussian(0.3), Landmarks(40), alpha=1e-4, metric=None, dtype=dtype, random_state=0
    )
    whole = clone(model).fit(X, y, sample_weight=weight).fit_.intervals
    monkeypatch.setattr(left_out_pass, "TILE", 1)
    monkeypatch.setattr(left_out_pass, "ENTRIES", 40 * 100)
    parts = clone(model).fit(X, y, sample_weight=weight).fit_.intervals
    for name in ("values", "fitted", "targets", "weight", "fold"):
        np.testing.assert_allclose(
            getattr(parts.rows, name), getattr(whole.rows, name), rtol=1e-6, atol=1e-6
        )
    np.testing.assert_allclose(parts.row_scale, whole.row_scale, rtol=1e-5)
