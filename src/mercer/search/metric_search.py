"""How the metric is searched for: its form, and what the search may cost."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from mercer.contracts import Array
from mercer.validation import check_choice, check_count, closest

#: Names that ``metric=`` accepts.
FORMS = ("auto", "diagonal", "full")


class MetricSearch(BaseEstimator):
    """Learn the metric from gradients, in rounds of small fits judged by held-out rows.

    Each round fits a sample of the rows with few functions, sums the outer products of its
    gradients, ``G = (1/W) sum_i w_i grad f(x_i) grad f(x_i)'``, and takes a root of G as the next
    metric. See :doc:`/metric`.

    Parameters
    ----------
    form : "auto", "diagonal" or "full"
        "diagonal" learns a weight per column, "full" also directions that are no columns; "auto"
        chooses between them and no metric.
    rounds : int
        The most rounds per form; they end earlier when held-out rows stop gaining.
    sample : int or None
        Rows of the small fits, drawn at random and brought to one place. None means all rows, where
        they are: the rounds then run over files and shards.
    n_components : int
        Landmarks of the small fits.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRegressor
    >>> X = np.random.default_rng(0).standard_normal((400, 10))
    >>> model = KernelRegressor(metric=MetricSearch("diagonal"), random_state=0)
    >>> model.fit(X, np.sin(2 * X[:, 3])).feature_importances_.argmax().item()
    3
    """

    def __init__(
        self,
        form: str = "auto",
        rounds: int = 4,
        sample: int | None = 8000,
        n_components: int = 600,
    ) -> None:
        self.form = form
        self.rounds = rounds
        self.sample = sample
        self.n_components = n_components

    def checked(self) -> MetricSearch:
        """Raise an error if a parameter is invalid; return self."""
        check_choice(self.form, "form of MetricSearch", list(FORMS))
        check_count(self.rounds, "rounds of MetricSearch")
        if self.sample is not None:
            check_count(self.sample, "sample of MetricSearch", minimum=10)
        check_count(self.n_components, "n_components of MetricSearch", minimum=2)
        return self


def as_metric(metric: str | MetricSearch | ArrayLike | None) -> MetricSearch | Array | None:
    """Return ``metric=`` as a search, a matrix, or None.

    >>> as_metric("diagonal")
    MetricSearch(form='diagonal')
    """
    if metric is None:
        return None
    if isinstance(metric, MetricSearch):
        return metric.checked()
    if isinstance(metric, str):
        if metric not in FORMS:
            raise ValueError(f"unknown metric {metric!r}{closest(metric, FORMS)}")
        return MetricSearch(metric)
    if isinstance(metric, (np.ndarray, list, tuple)):
        matrix = np.asarray(metric, dtype=np.float64)
        if matrix.ndim not in (1, 2) or not matrix.size:
            raise ValueError(
                f"metric must be an array of shape (d, r), or of d weights, got shape "
                f"{matrix.shape}"
            )
        if not np.isfinite(matrix).all() or not matrix.any():
            raise ValueError("metric must be finite, and not all zeros")
        return matrix
    raise TypeError(
        f"metric must be 'auto', 'diagonal', 'full', None, an array of shape (d, r) or a "
        f"MetricSearch, got {type(metric).__name__}"
    )
