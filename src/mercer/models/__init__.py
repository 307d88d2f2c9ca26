"""Model files: one safetensors file that says what a model is and holds its arrays."""

from mercer.models.atomic import atomic_path
from mercer.models.errors import ModelFileError
from mercer.models.loading import load
from mercer.models.saving import save

__all__ = ["ModelFileError", "atomic_path", "load", "save"]
