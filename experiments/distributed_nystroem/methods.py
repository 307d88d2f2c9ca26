"""The methods that are compared, as recipes of the library."""

from __future__ import annotations

from dataclasses import dataclass

from mercer import Gaussian, KernelClassifier, recipe


@dataclass(frozen=True)
class Method:
    """A recipe, and which of m and M it has."""

    label: str
    recipe: str
    has_partitions: bool = True
    has_centers: bool = True


METHODS: dict[str, Method] = {
    "DNystroem": Method("DNystroem, shared centers", "DNystroem"),
    "DC-NY": Method("DC-NY, local centers", "DC-NY"),
    "DKRR": Method("DKRR, all rows of a shard", "DKRR", has_centers=False),
    "DC-RF": Method("DC-RF, random features", "DKRR-RF"),
    "Nystroem": Method("Nystroem, one shard", "KRR-Nystroem", has_partitions=False),
    "RF": Method("random features, one shard", "KRR-RF", has_partitions=False),
}


def estimator(
    name: str, partitions: int, centers: int, bandwidth: float, alpha: float, seed: int
) -> KernelClassifier:
    """Return a method as the paper has it: no constant, one alpha for all shards."""
    method = METHODS[name]
    chosen: dict[str, int] = {}
    if method.has_partitions:
        chosen["shards"] = partitions
    if method.has_centers:
        chosen["n_components"] = centers
    found = recipe(
        method.recipe,
        "classification",
        kernel=Gaussian(bandwidth),
        alpha=alpha,
        fit_intercept=False,
        dtype="float64",
        random_state=seed,
        **chosen,
    )
    assert isinstance(found, KernelClassifier)
    return found
