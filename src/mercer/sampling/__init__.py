"""How to sample rows: for landmarks, labels and folds."""

from mercer.sampling.folds import Deal, Dealer, fold_labels
from mercer.sampling.landmark_rows import (
    BY_KERNEL,
    DICTIONARIES,
    chosen_rows,
    distinct_rows,
    drawn_by_weight,
    kmeans_centers,
    pool_size,
    random_order,
    scores_of_all,
    uniform_indices,
)
from mercer.sampling.leverage import (
    Dictionary,
    bless,
    exact_scores,
    recursive_dictionary,
    scores_of_rows,
)
from mercer.sampling.pivoted_cholesky import pivoted_cholesky
from mercer.sampling.posterior_variance import PosteriorVariance

__all__ = [
    "BY_KERNEL",
    "DICTIONARIES",
    "Deal",
    "Dealer",
    "Dictionary",
    "PosteriorVariance",
    "bless",
    "chosen_rows",
    "distinct_rows",
    "drawn_by_weight",
    "exact_scores",
    "fold_labels",
    "kmeans_centers",
    "pivoted_cholesky",
    "pool_size",
    "random_order",
    "recursive_dictionary",
    "scores_of_all",
    "scores_of_rows",
    "uniform_indices",
]
