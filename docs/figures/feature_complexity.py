"""Time and space of random features over shards: figures 1 to 4 of Li, Liu and Wang (2022)."""

from __future__ import annotations

from collections.abc import Callable

from complexity_maps import ROWS, Cost, draw

from mercer.rates import feature_rates as rates

#: The features, shards and rows of a theorem at (r, gamma).
Sizes = Callable[[float, float], tuple[float, float, float]]


def theorem_1(r: float, gamma: float) -> tuple[float, float, float]:
    """Older proofs: few shards."""
    given = {"r": r, "gamma": gamma}
    return rates.features(ROWS, **given), rates.older_feature_partitions(ROWS, **given), ROWS


def theorem_2(r: float, gamma: float) -> tuple[float, float, float]:
    """More shards, and targets outside the space of the kernel."""
    given = {"r": r, "gamma": gamma}
    return rates.features(ROWS, **given), rates.feature_partitions(ROWS, **given), ROWS


def theorem_3(r: float, gamma: float) -> tuple[float, float, float]:
    """Fewer features, drawn by leverage: alpha = gamma, as remark 4 takes it."""
    given = {"r": r, "gamma": gamma}
    features = rates.features(ROWS, **given, alpha=gamma)
    return features, rates.feature_partitions(ROWS, **given), ROWS


def theorem_4(r: float, gamma: float) -> tuple[float, float, float]:
    """Rows without labels, which are rows of the fit too."""
    given = {"r": r, "gamma": gamma}
    rows = rates.semi_supervised_rows(ROWS, **given, alpha=gamma)
    shards = rates.semi_supervised_partitions(ROWS, **given)
    return rates.features(ROWS, **given, alpha=gamma), shards, rows


def costs(sizes: Sizes) -> tuple[Cost, Cost]:
    """Return time, n M^2 / m, and space, n M / m."""

    def time(r: float, gamma: float) -> float:
        features, shards, rows = sizes(r, gamma)
        return rows * features**2 / shards

    def space(r: float, gamma: float) -> float:
        features, shards, rows = sizes(r, gamma)
        return rows * features / shards

    return time, space


def main() -> None:
    """Draw a column for each theorem, as the paper has a figure for each."""
    columns = [
        ("Older proofs\n(theorem 1)", costs(theorem_1)),
        ("More shards\n(theorem 2)", costs(theorem_2)),
        ("Features by leverage\n(theorem 3)", costs(theorem_3)),
        ("Rows without labels\n(theorem 4)", costs(theorem_4)),
    ]
    draw("feature_complexity", ("time", "space"), columns)


if __name__ == "__main__":
    main()
