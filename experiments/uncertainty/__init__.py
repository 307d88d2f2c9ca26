"""Intervals and probabilities against those of peers: coverage, interval score, log loss.

Run it with ``python -m experiments.uncertainty``.
"""
