"""Optimal convergence rates for distributed Nystroem approximation (Li, Liu and Wang, 2023).

``python -m experiments.distributed_nystroem`` runs its figures 1, 5 and 6.
"""
