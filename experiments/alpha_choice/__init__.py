"""Which criterion chooses alpha well? Candidates compared on fits to real sets.

``python -m experiments.alpha_choice`` runs it and writes tables and figures.
"""
