"""Columns of a table: numbers, categories, gaps and dates become numbers.

What is learned of a column is a sum over rows.
"""

from mercer.columns.spread import ColumnSums, column_sums, quantile_scaling
from mercer.columns.table_encoder import TableEncoder
from mercer.columns.table_encoding import TableEncoding

__all__ = [
    "ColumnSums",
    "TableEncoder",
    "TableEncoding",
    "column_sums",
    "quantile_scaling",
]
