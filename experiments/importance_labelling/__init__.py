"""Importance labeling (Murata and Suzuki, 2021): figures 1, 2 and 3.

``python -m experiments.importance_labelling`` runs it and writes tables and figures.
"""
