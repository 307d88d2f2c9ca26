"""Model files: one safetensors file with a description of a model and its arrays, or ONNX."""

from mercer.models.loading import ModelFileError, load
from mercer.models.onnx_export import to_onnx
from mercer.models.saving import save

__all__ = ["ModelFileError", "load", "save", "to_onnx"]
