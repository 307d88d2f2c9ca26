"""Sources of rows: arrays in memory, and files that are read block by block."""

from mercer.rows.arrays import ArraySource
from mercer.rows.csv import CsvSource
from mercer.rows.npz import NpySource, NpzSource
from mercer.rows.opening import as_source, names_columns, open_rows
from mercer.rows.parquet import ParquetSource
from mercer.rows.svmlight import SvmlightSource
from mercer.rows.svmlight_lines import write_svmlight

__all__ = [
    "ArraySource",
    "CsvSource",
    "NpySource",
    "NpzSource",
    "ParquetSource",
    "SvmlightSource",
    "as_source",
    "names_columns",
    "open_rows",
    "write_svmlight",
]
