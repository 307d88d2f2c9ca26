"""Distributed learning with random features (Li, Liu and Wang, 2022): figures 5-8 and 12-14.

``python -m experiments.distributed_random_features`` runs it and writes tables and figures.
"""
