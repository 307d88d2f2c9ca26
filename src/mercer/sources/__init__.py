"""Where rows come from: arrays in memory, and files that are read block by block."""

from mercer.sources.arrays import ArraySource
from mercer.sources.csv import CsvSource
from mercer.sources.npz import NpySource, NpzSource
from mercer.sources.opening import as_source, names_columns, open_rows
from mercer.sources.parquet import ParquetSource
from mercer.sources.svmlight import SvmlightSource
from mercer.sources.svmlight_lines import write_svmlight

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
