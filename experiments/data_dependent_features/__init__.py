"""Data-dependent features and unlabeled rows (Li, Liu and Wang, 2022): figures 9 to 11.

``python -m experiments.data_dependent_features`` runs it and writes tables and figures.
"""
