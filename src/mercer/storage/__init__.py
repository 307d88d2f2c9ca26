"""What is written to disk: arrays with a JSON document, without pickle, whole or not at all.

Models, checkpoints, label sheets and the command line share it.
"""

from mercer.storage.atomic import atomic_path, write_json, write_together
from mercer.storage.codec import Decoder, Encoder, load_value, save_value
from mercer.storage.registry import LibraryRecords, Registry
from mercer.storage.tensor_file import DamagedFileError, TensorFile, open_tensors, write_tensors

__all__ = [
    "DamagedFileError",
    "Decoder",
    "Encoder",
    "LibraryRecords",
    "Registry",
    "TensorFile",
    "atomic_path",
    "load_value",
    "open_tensors",
    "save_value",
    "write_json",
    "write_tensors",
    "write_together",
]
