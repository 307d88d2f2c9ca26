"""Reasons for a prediction: derivatives and effects of every column."""

from mercer.explain.explanation import Explanation

__all__ = ["Explanation"]
