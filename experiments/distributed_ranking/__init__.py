"""Distributed least square ranking with random features: figures 1 and 2, tables 2, 3 and 4.

``python -m experiments.distributed_ranking`` runs them and writes tables and figures.
"""
