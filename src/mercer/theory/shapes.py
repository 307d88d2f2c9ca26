"""The systems of a forecast: their functions, how shards are combined, and their theorem."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Shape:
    """A system.

    Attributes
    ----------
    family : str
        "full", "landmarks" or "random features".
    combination : str
        A key of :data:`mercer.theory.system_costs.COSTS`.
    statement : str or None
        The theorem with its sizes, a key of :data:`mercer.rates.SYSTEMS`.
    """

    family: str
    combination: str
    statement: str | None = None

    @property
    def full(self) -> bool:
        """Whether there is a function for every row."""
        return self.family == "full"

    @property
    def depends_on_shards(self) -> bool:
        """Whether a fit in one place has shards too."""
        return self.combination in ("average", "rounds")

    @property
    def averaged(self) -> bool:
        """Whether the error depends on the number of shards."""
        return self.combination == "average"


#: The systems of a forecast, by the names of :data:`mercer.recipes.RECIPES` where they have one.
SHAPES: dict[str, Shape] = {
    "KRR": Shape("full", "full", "KRR"),
    "KRR-Nystroem": Shape("landmarks", "sum", "DNystroem"),
    "FALKON": Shape("landmarks", "products", "DNystroem"),
    "Nystroem KCGM": Shape("landmarks", "sum", "Nystroem KCGM"),
    "KRR-RF": Shape("random features", "sum", "KRR-RF"),
    "DKRR": Shape("full", "average", "DKRR"),
    "DC-NY": Shape("landmarks", "average", "DC-NY"),
    "DNystroem": Shape("landmarks", "average", "DNystroem"),
    "DNystroem leverage": Shape("landmarks", "average", "DNystroem, leverage"),
    "DKRR-RF": Shape("random features", "average", "DKRR-RF"),
    "conjugate rounds": Shape("landmarks", "rounds"),
}
