"""What the theorems state, as functions: penalties, sizes, most partitions and rates.

Pure formulas of the number of rows and of exponents, without data and up to constants.
"""

from mercer.theory.exponents import Exponents

__all__ = ["Exponents"]
