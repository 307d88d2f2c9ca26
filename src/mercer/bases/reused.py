"""Functions that are chosen already, for a fit that must use the same ones."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from mercer.bases.basis import BasisTransformer
from mercer.bases.landmarks import Landmarks
from mercer.contracts import Precision, RowSource
from mercer.kernels import Kernel


class ReusedBasis(BasisTransformer):
    """The functions of a fitted basis; the fit gets a copy of that basis, not this object.

    >>> from mercer.bases import RandomFeatures
    >>> from mercer.rows import ArraySource
    >>> X = np.zeros((4, 2))
    >>> drawn = RandomFeatures(5, random_state=0).fit(X)
    >>> again = ReusedBasis(drawn)
    >>> found = again.fit_source(ArraySource(X), drawn.kernel_, np.random.default_rng(1), "float64")
    >>> found.features_ is drawn.features_, again.wanted_size(4)
    (True, 5)
    """

    kernel = None
    random_state = None
    n_components = 0  # not open

    def __init__(self, fitted: BasisTransformer) -> None:
        self.fitted = fitted

    def __sklearn_clone__(self) -> ReusedBasis:
        return ReusedBasis(self.fitted)  # a clone of the basis would forget its functions

    def wanted_size(self, n_rows: int) -> int:
        """Return M."""
        return self.fitted.size

    def fit_source(
        self,
        source: RowSource,
        kernel: Kernel,
        rng: np.random.Generator,
        precision: Precision,
        may_widen: bool = False,
        for_products: bool = False,
    ) -> Any:
        """Return a copy of the fitted basis in this precision."""
        found = copy(self.fitted)
        found.precision_ = precision
        return found


def same_functions(fitted: BasisTransformer) -> BasisTransformer:
    """Return an unfitted basis that will have the functions of a fitted one."""
    landmarks: Any = getattr(fitted, "landmarks_", None)
    return ReusedBasis(fitted) if landmarks is None else Landmarks(sampling=landmarks)
