"""Model files: one safetensors file with a description of a model and its arrays, or ONNX."""

from mercer.models.loading import ModelFileError, load
from mercer.models.mlflow_flavor import log_mlflow, save_mlflow
from mercer.models.model_card import model_card
from mercer.models.onnx_export import to_onnx
from mercer.models.saving import save

__all__ = [
    "ModelFileError",
    "load",
    "log_mlflow",
    "model_card",
    "save",
    "save_mlflow",
    "to_onnx",
]
