"""Data sets: one that is included, and larger ones that are loaded or downloaded."""

from mercer.datasets.letter import load_letter
from mercer.datasets.real import load_real

__all__ = ["load_letter", "load_real"]
