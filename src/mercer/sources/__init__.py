"""Where rows come from: arrays in memory, and files that are read block by block."""

from mercer.sources.arrays import ArraySource
from mercer.sources.csv import CsvSource
from mercer.sources.npz import NpySource, NpzSource
from mercer.sources.opening import as_source, open_rows
from mercer.sources.parquet import ParquetSource

__all__ = [
    "ArraySource",
    "CsvSource",
    "NpySource",
    "NpzSource",
    "ParquetSource",
    "as_source",
    "open_rows",
]
