"""Scores of every distributed system for all lambdas at once: what cross-validation compares.

The systems themselves are fitted by the library; these are the same equations with one
eigendecomposition of each shard for all lambdas, which tests compare with the library's fits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from experiments.scaffold import Array


@dataclass(frozen=True)
class LocalSystem:
    """``H_j = V diag(values) V' + lambda / 2`` of a shard, and its right-hand side."""

    V: Array
    values: Array
    b: Array

    @classmethod
    def of(cls, features: Array, y: Array) -> LocalSystem:
        """Decompose the products of centered rows, or of columns where they are fewer."""
        n, m = features.shape
        centered = features - features.mean(axis=0)
        b = centered.T @ (y - y.mean()) / n
        if m <= n:
            values, V = np.linalg.eigh(centered.T @ centered / n)
        else:
            values, U = np.linalg.eigh(centered @ centered.T / n)
            kept = values > 1e-12 * max(values[-1], 1e-300)
            values, V = values[kept], centered.T @ U[:, kept] / np.sqrt(n * values[kept])
        return cls(V, np.maximum(values, 0.0), b)

    def solve(self, G: Array, halves: Array) -> Array:
        """Return ``H_j^-1 g``, a column for each lambda."""
        inside = self.V.T @ G
        outside = (G - self.V @ inside) / halves
        return np.asarray(self.V @ (inside / (self.values[:, None] + halves)) + outside)


def shares(labels: Array) -> Array:
    """Return the shares of the shards' pairs.

    >>> shares(np.array([0, 0, 1]))
    array([0.8, 0.2])
    """
    pairs = np.bincount(labels).astype(float) ** 2
    return np.asarray(pairs / pairs.sum())


def features_path(
    features: Array,
    y: Array,
    new: Array,
    labels: Array,
    lambdas: Sequence[float],
    rounds: Sequence[int] = (),
) -> dict[int, Array]:
    """Return scores of new rows by rounds of algorithm 1, a column for each lambda.

    Without rounds (0) they are the average of the shards' models.
    """
    halves = np.asarray(lambdas) / 2
    locals_ = [LocalSystem.of(features[labels == j], y[labels == j]) for j in np.unique(labels)]
    weights = shares(labels)
    columns = np.ones((1, len(halves)))
    pairs = list(zip(weights, locals_, strict=True))
    average = sum(w * one.solve(one.b[:, None] * columns, halves) for w, one in pairs)
    found = {0: new @ average}
    if not rounds:
        return found
    H = sum(w * (one.V * one.values) @ one.V.T for w, one in pairs)
    b = sum(w * one.b for w, one in pairs)[:, None]
    g = np.zeros_like(average)
    for step in range(1, max(rounds) + 1):
        gradient = H @ g + halves * g - b
        g = g - sum(w * one.solve(gradient, halves) for w, one in pairs)
        if step in rounds:
            found[step] = new @ g
    return found


def kernel_path(
    K: Array,
    y: Array,
    K_new: Array,
    labels: Array,
    lambdas: Sequence[float],
    rounds: Sequence[int] = (),
) -> dict[int, Array]:
    """Return scores of new rows by Newton rounds from the average, a column for each lambda.

    Functions are given by coefficients at all rows. As in the library, a round that raises the
    objective is not kept, and is the last.
    """
    halves = np.asarray(lambdas) / 2
    weights = shares(labels)
    if len(weights) == 1:  # there is nothing left for rounds
        return dict.fromkeys((0, *rounds), K_new @ _in_one_place(K, y, halves))
    shards = [np.flatnonzero(labels == j) for j in range(len(weights))]
    factors = []
    for own in shards:
        G = _centered(_centered(K[np.ix_(own, own)]).T) / len(own)
        factors.append(np.linalg.eigh((G + G.T) / 2))

    def combined(parts: list[Array]) -> Array:
        out = np.empty((len(y), len(halves)))
        for share, own, part in zip(weights, shards, parts, strict=True):
            out[own] = share * part
        return out

    def solved(values: list[Array]) -> list[Array]:
        return [
            U @ ((U.T @ _centered(one)) / (np.maximum(s, 0.0)[:, None] + halves)) / len(one)
            for (s, U), one in zip(factors, values, strict=True)
        ]

    target = np.repeat(y[:, None], len(halves), axis=1)
    g = combined(solved([target[own] for own in shards]))
    found = {0: K_new @ g}
    if not rounds:
        return found
    b = combined([_centered(target[own]) / len(own) for own in shards])
    best = np.full(len(halves), np.inf)
    going = np.ones(len(halves), dtype=bool)
    kept = g
    for step in range(max(rounds) + 1):
        values = K @ g
        image = combined([_centered(values[own]) / len(own) for own in shards])
        gradient = image + halves * g - b
        objective = np.sum(values * (gradient - b), axis=0) / 2
        going &= objective <= best + 1e-12 * np.abs(best)
        best, kept = np.where(going, objective, best), np.where(going, g, kept)
        if step in rounds:
            found[step] = K_new @ kept
        at = K @ gradient
        g = g - (gradient - combined(solved([at[own] for own in shards]))) / halves
    return found


def _in_one_place(K: Array, y: Array, halves: Array) -> Array:
    """Return coefficients of all rows; factors of few lambdas cost less than eigenvalues."""
    G = _centered(_centered(K).T)
    found = np.empty((len(y), len(halves)))
    for column, half in zip(found.T, halves, strict=True):
        A = (G + G.T) / 2
        A.flat[:: len(y) + 1] += half * len(y)
        column[:] = cho_solve(cho_factor(A, overwrite_a=True), y - y.mean())
    return found


def _centered(values: Array) -> Array:
    return np.asarray(values - values.mean(axis=0))
