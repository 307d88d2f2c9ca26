"""The methods that are compared, as recipes of the library, with the penalties of the authors."""

from __future__ import annotations

from dataclasses import dataclass

from mercer import Gaussian, KernelClassifier, recipe


@dataclass(frozen=True)
class Method:
    """A recipe, which of m and M it has, and what the authors' code does in its own way.

    There the penalty of DKRR is lambda times all rows, that of the others lambda times the rows of
    a shard, and random frequencies have the deviation 1 / sigma^2, not that of the kernel, 1 /
    sigma.
    """

    label: str
    recipe: str
    has_partitions: bool = True
    has_centers: bool = True
    penalty_of_all: bool = False
    power: int = 1  # of sigma
    stored: str = ""  # its name among the authors' curves


METHODS: dict[str, Method] = {
    "DNystroem": Method("DNystroem, shared centers", "DNystroem", stored="DNystroem"),
    "DC-NY": Method("DC-NY, local centers", "DC-NY", stored="DC-NY"),
    "DKRR": Method(
        "DKRR, all rows of a shard",
        "DKRR",
        has_centers=False,
        penalty_of_all=True,
        stored="DKRR",
    ),
    "DC-RF": Method("DC-RF, deviation $1/\\sigma$", "DKRR-RF"),
    "DC-RF2": Method("DC-RF, deviation $1/\\sigma^2$", "DKRR-RF", power=2, stored="DC-RF"),
    "Nystroem": Method(
        "Nystroem, one shard", "KRR-Nystroem", has_partitions=False, stored="Nystroem"
    ),
    "RF": Method("RF, one shard, $1/\\sigma$", "KRR-RF", has_partitions=False),
    "RF2": Method(
        "RF, one shard, $1/\\sigma^2$", "KRR-RF", has_partitions=False, power=2, stored="RF"
    ),
}


def estimator(
    name: str, partitions: int, centers: int, bandwidth: float, alpha: float, seed: int
) -> KernelClassifier:
    """Return a method as the authors run it, without a constant.

    No centers stand for all rows of a shard: DC-NY is then the exact kernel, as DKRR is.
    """
    method = METHODS[name]
    chosen: dict[str, int] = {}
    if method.has_partitions:
        chosen["shards"] = partitions
    if centers:
        chosen["n_components"] = centers
    found = recipe(
        "DKRR" if name == "DC-NY" and not centers else method.recipe,
        "classification",
        kernel=Gaussian(bandwidth**method.power),
        alpha=alpha * partitions if method.penalty_of_all else alpha,
        fit_intercept=False,
        calibration=None,  # the class of the largest score, as in the paper
        dtype="float64",
        random_state=seed,
        **chosen,
    )
    assert isinstance(found, KernelClassifier)
    return found
