"""What is raised for a file that is no model, or not a sound one."""

from __future__ import annotations


class ModelFileError(ValueError):
    """The file cannot be read as a model; the message names the file and what is wrong with it."""
