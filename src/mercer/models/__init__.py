"""Model files: one safetensors file with a description of a model and its arrays, or ONNX."""

from mercer.models.loading import ModelFileError, load
from mercer.models.mlflow_flavor import log_mlflow, save_mlflow
from mercer.models.onnx_export import to_onnx
from mercer.models.saving import save

__all__ = ["ModelFileError", "load", "log_mlflow", "save", "save_mlflow", "to_onnx"]
