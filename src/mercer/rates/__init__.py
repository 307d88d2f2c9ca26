"""What the theorems state, as functions: penalties, sizes, most shards, rates.

Pure formulas of the number of rows and of :class:`Exponents`, without data; sizes are up to
constants. There is one module a paper, and :data:`SYSTEMS` has one record a system, with what it
asks of the exponents. What a statement does not cover is refused, or said in its record.
"""

from mercer.rates.exponents import (
    Conditions,
    Exponents,
    effective_dimension,
    fewest,
    most,
    optimal_penalty,
    optimal_risk,
)
from mercer.rates.labelling_rates import Labelling, labels_needed
from mercer.rates.ranking_rates import most_ranking_shards, rounds_needed
from mercer.rates.statements import SYSTEMS, Evaluated, Statement, tabulate

__all__ = [
    "SYSTEMS",
    "Conditions",
    "Evaluated",
    "Exponents",
    "Labelling",
    "Statement",
    "effective_dimension",
    "fewest",
    "labels_needed",
    "most",
    "most_ranking_shards",
    "optimal_penalty",
    "optimal_risk",
    "rounds_needed",
    "tabulate",
]
