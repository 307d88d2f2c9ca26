"""Model files: one safetensors file that says what a model is and holds its arrays."""

from mercer.models.loading import ModelFileError, load
from mercer.models.saving import save

__all__ = ["ModelFileError", "load", "save"]
