"""Time and space of landmarks over shards: figures 2 to 4 of Li, Liu and Wang (2023)."""

from __future__ import annotations

from complexity_maps import ROWS, draw

from mercer.rates import nystroem_rates as rates


def local_time(r: float, gamma: float) -> float:
    """Time of proposition 8: local landmarks (DC-NY)."""
    centers = rates.local_centers(ROWS, r=r, gamma=gamma)
    return ROWS * centers**2 / rates.averaged_partitions(ROWS, r=r, gamma=gamma)


def local_space(r: float, gamma: float) -> float:
    """Space of proposition 8."""
    centers = rates.local_centers(ROWS, r=r, gamma=gamma)
    return rates.training_space(ROWS, centers, rates.averaged_partitions(ROWS, r=r, gamma=gamma))


def worst_time(r: float, gamma: float) -> float:
    """Time of corollary 12: shared landmarks, alpha = 1; halved, since both terms are equal."""
    centers = rates.shared_centers(ROWS, r=r, gamma=gamma)
    shards = rates.shared_partitions(ROWS, r=r, gamma=gamma)
    return rates.training_time(ROWS, centers, shards) / 2


def worst_space(r: float, gamma: float) -> float:
    """Space of corollary 12."""
    centers = rates.shared_centers(ROWS, r=r, gamma=gamma)
    return rates.training_space(ROWS, centers, rates.shared_partitions(ROWS, r=r, gamma=gamma))


def benign_time(r: float, gamma: float) -> float:
    """Time of corollary 13, alpha = gamma: that of the leverage scores, which is the most."""
    return rates.leverage_time(ROWS, r=r, gamma=gamma)


def benign_space(r: float, gamma: float) -> float:
    """Space of corollary 13."""
    given = {"r": r, "gamma": gamma, "alpha": gamma}
    centers = rates.shared_centers(ROWS, **given)
    return rates.training_space(ROWS, centers, rates.shared_partitions(ROWS, **given))


def main() -> None:
    """Draw a column for each statement, as the paper has a figure for each."""
    columns = [
        ("Local landmarks\n(proposition 8)", (local_time, local_space)),
        ("Shared, alpha = 1\n(corollary 12)", (worst_time, worst_space)),
        ("Shared, alpha = gamma\n(corollary 13)", (benign_time, benign_space)),
    ]
    draw("landmark_complexity", ("time", "space"), columns)


if __name__ == "__main__":
    main()
