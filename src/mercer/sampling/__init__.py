"""How to sample rows: for landmarks, labels and folds."""

from mercer.sampling.choosing import (
    BY_KERNEL,
    DICTIONARIES,
    chosen_rows,
    drawn_by_weight,
    pool_size,
    scores_of_all,
)
from mercer.sampling.dictionaries import bless, recursive_dictionary
from mercer.sampling.folds import Dealer, fold_labels
from mercer.sampling.kmeans import kmeans_centers
from mercer.sampling.leverage import Dictionary, exact_scores
from mercer.sampling.pivoted_cholesky import pivoted_cholesky
from mercer.sampling.posterior_variance import PosteriorVariance
from mercer.sampling.scored_rows import scores_of_rows
from mercer.sampling.uniform import random_order, uniform_indices

__all__ = [
    "BY_KERNEL",
    "DICTIONARIES",
    "Dealer",
    "Dictionary",
    "PosteriorVariance",
    "bless",
    "chosen_rows",
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
