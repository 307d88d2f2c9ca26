"""What the theorems state, as functions: penalties, sizes, most shards, rates.

Pure formulas of the number of rows and of :class:`Exponents`, without data; sizes are up to
constants. There is one module a paper, and :data:`SYSTEMS` has one record a system, with what it
asks of the exponents. What a statement does not cover is refused, or said in its record.
"""

from mercer.theory.conditions import Conditions
from mercer.theory.exponents import Exponents
from mercer.theory.labelling_rates import Labelling, labels_needed
from mercer.theory.magnitudes import fewest, most
from mercer.theory.optimal_rates import effective_dimension, optimal_penalty, optimal_risk
from mercer.theory.ranking_rates import most_ranking_shards, rounds_needed
from mercer.theory.statement_record import Evaluated, Statement
from mercer.theory.statements import SYSTEMS, tabulate

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
