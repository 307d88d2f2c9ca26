"""Storage: arrays with a JSON document, without pickle, written atomically.

It is shared by models, checkpoints, label sheets and the command line.
"""

from mercer.storage.atomic import atomic_path, write_json, write_together
from mercer.storage.checksums import record_checksum
from mercer.storage.codec import Decoder, Encoder, load_value, save_value
from mercer.storage.fingerprints import (
    fingerprint,
    fingerprint_rows,
    fingerprint_texts,
    fingerprint_unordered,
    input_identity,
)
from mercer.storage.formula_text import ESCAPE, escaped, escaped_table, unescaped
from mercer.storage.registry import LibraryRecords, Registry
from mercer.storage.regular_files import check_regular
from mercer.storage.table_files import TABLE_WRITERS, pyarrow, write_csv, write_table
from mercer.storage.tensor_file import DamagedFileError, TensorFile, open_tensors, write_tensors

__all__ = [
    "ESCAPE",
    "TABLE_WRITERS",
    "DamagedFileError",
    "Decoder",
    "Encoder",
    "LibraryRecords",
    "Registry",
    "TensorFile",
    "atomic_path",
    "check_regular",
    "escaped",
    "escaped_table",
    "fingerprint",
    "fingerprint_rows",
    "fingerprint_texts",
    "fingerprint_unordered",
    "input_identity",
    "load_value",
    "open_tensors",
    "pyarrow",
    "record_checksum",
    "save_value",
    "unescaped",
    "write_csv",
    "write_json",
    "write_table",
    "write_tensors",
    "write_together",
]
