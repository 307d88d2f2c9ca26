"""Data sets: one that comes with the package, and larger ones that are found or downloaded."""

from mercer.datasets.letter import load_letter
from mercer.datasets.real import load_real

__all__ = ["load_letter", "load_real"]
