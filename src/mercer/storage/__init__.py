"""Storage: arrays with a JSON document, without pickle, written atomically.

It is shared by models, checkpoints, label sheets and the command line.
"""

from mercer.storage.codec import Decoder, Encoder, load_value, save_value
from mercer.storage.files import atomic_path, check_regular, write_json, write_together
from mercer.storage.fingerprints import (
    fingerprint,
    fingerprint_rows,
    fingerprint_texts,
    fingerprint_unordered,
    input_identity,
)
from mercer.storage.registry import LibraryRecords, Registry
from mercer.storage.tables import (
    ESCAPE,
    TABLE_WRITERS,
    escaped,
    escaped_table,
    pyarrow,
    unescaped,
    write_csv,
    write_table,
)
from mercer.storage.tensor_file import (
    UNREADABLE,
    DamagedFileError,
    TensorFile,
    open_tensors,
    record_checksum,
    write_tensors,
)

__all__ = [
    "ESCAPE",
    "TABLE_WRITERS",
    "UNREADABLE",
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
