"""Bases: the functions ``h_j`` of the solution ``f(x) = sum_j c_j h_j(x)``."""

from mercer.bases.basis import BasisTransformer, as_generator
from mercer.bases.full import FullKernel
from mercer.bases.landmarks import Landmarks
from mercer.bases.random_features import RandomFeatures
from mercer.bases.sketch import Sketch
from mercer.bases.whitening import Whitener
from mercer.validation import from_alias

#: Names that ``basis=`` accepts, besides "auto".
BASES: dict[str, type[BasisTransformer]] = {
    "full": FullKernel,
    "landmarks": Landmarks,
    "random_features": RandomFeatures,
    "sketch": Sketch,
}


def as_basis(basis: str | BasisTransformer) -> BasisTransformer:
    """Turn a name into a basis object; pass objects through."""
    return from_alias(basis, BASES, BasisTransformer, "basis")


__all__ = [
    "BASES",
    "BasisTransformer",
    "FullKernel",
    "Landmarks",
    "RandomFeatures",
    "Sketch",
    "Whitener",
    "as_basis",
    "as_generator",
]
