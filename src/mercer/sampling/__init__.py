"""Which rows: for landmarks, and for folds."""

from mercer.sampling.folds import fold_labels
from mercer.sampling.kmeans import kmeans_centers
from mercer.sampling.pivoted_cholesky import pivoted_cholesky
from mercer.sampling.uniform import uniform_indices

__all__ = ["fold_labels", "kmeans_centers", "pivoted_cholesky", "uniform_indices"]
