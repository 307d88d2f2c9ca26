"""Which rows become landmarks."""

from mercer.sampling.kmeans import kmeans_centers
from mercer.sampling.uniform import uniform_indices

__all__ = ["kmeans_centers", "uniform_indices"]
