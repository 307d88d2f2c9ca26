"""Learning to rank on LETOR 4.0 MQ2008, against gradient-boosted trees.

``python -m experiments.learning_to_rank`` runs it and writes tables and a figure.
"""
