"""Sums in float32, plain and of orthogonalized functions, against sums in float64."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import style

from mercer import Gaussian, Landmarks, load_letter
from mercer.bases import Whitener
from mercer.moments import MomentSums
from mercer.rows import ArraySource

ROWS, SIZE, BLOCK = 8000, 500, 1000


class Plain:
    """A basis whose functions are summed as they are."""

    def __init__(self, basis: Landmarks) -> None:
        self.basis = basis
        self.size = basis.size
        self.precision_ = basis.precision_

    def orthogonalized(self, X: Any, out: Any = None) -> Any:
        """Return the values of the functions themselves."""
        return self.basis.evaluate(X, out)

    def whitener(self) -> Whitener:
        """Return the whitener of the functions themselves."""
        return Whitener(self.basis.factor_, self.size)

    def coefficients(self, found: Any) -> Any:
        """Return the coefficients as they are."""
        return found


def main() -> None:
    """Draw the eigenvalues of A, and the test error along alpha."""
    data = load_letter()
    X, y = data.X_train[:ROWS], data.y_train[:ROWS]
    classes = np.unique(y)
    Y = np.where(y[:, None] == classes, 1.0, -1.0)
    alphas = np.geomspace(1e-10, 1e-2, 33)
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    for name, precision, orthogonalized, color, width in (
        ("float32, plain", "float32", False, style.ORANGE, 1.6),
        ("float64", "float64", True, style.LIGHT, 5.0),
        ("float32, orthogonalized", "float32", True, style.BLUE, 1.4),
    ):
        rng = np.random.default_rng(0)  # the same landmarks each time
        landmarks = Landmarks(SIZE).fit_source(ArraySource(X), Gaussian(), rng, precision)
        basis = landmarks if orthogonalized else Plain(landmarks)
        sums = MomentSums(basis, Y.shape[1])
        for start in range(0, ROWS, BLOCK):
            sums.add(X[start : start + BLOCK], Y[start : start + BLOCK])
        whitener = basis.whitener()
        equations = sums.total().normal_equations(whitener, True)
        values, vectors = np.linalg.eigh(equations.A)

        place = np.arange(len(values), 0, -1)
        shown = np.where(values > 0, values, np.nan)
        left.semilogy(place, shown, color=color, linewidth=width, label=name)
        if (values < 0).any():
            below = np.where(values < 0, -values, np.nan)
            left.plot(place, below, ":", color=color, label=f"{name}: below 0")

        beta = vectors.T @ equations.b
        H = basis.orthogonalized(data.X_test).astype(np.float64)
        errors = []
        for alpha in alphas:
            c = whitener.coefficients(vectors @ (beta / (values + alpha)[:, None]))
            scores = H @ c + equations.intercept(c)
            errors.append(np.mean(classes[scores.argmax(axis=1)] != data.y_test))
        right.loglog(alphas, errors, color=color, linewidth=width)
    left.set(title="Eigenvalues of A", xlabel="number")
    left.legend(loc="lower left")
    right.minorticks_off()
    ticks = (0.1, 0.2, 0.4, 0.8)
    right.set_yticks(ticks, [f"{tick:.0%}" for tick in ticks])
    right.set(title="Share of test letters read wrong", xlabel="alpha")
    style.save(figure, "orthogonalization")


if __name__ == "__main__":
    main()
