"""When does it pay to choose landmarks by leverage scores? Eight real sets and a made-up one.

``python -m experiments.landmark_sampling`` runs it and writes tables and figures.
"""
