"""How to sample rows: for landmarks, labels and folds."""

from mercer.sampling.choosing import BY_KERNEL, chosen_rows, pool_size
from mercer.sampling.dictionaries import bless, recursive_dictionary
from mercer.sampling.folds import fold_labels
from mercer.sampling.kmeans import kmeans_centers
from mercer.sampling.leverage import Dictionary, exact_scores
from mercer.sampling.pivoted_cholesky import pivoted_cholesky
from mercer.sampling.uniform import uniform_indices

__all__ = [
    "BY_KERNEL",
    "Dictionary",
    "bless",
    "chosen_rows",
    "exact_scores",
    "fold_labels",
    "kmeans_centers",
    "pivoted_cholesky",
    "pool_size",
    "recursive_dictionary",
    "uniform_indices",
]
