"""Papers run again with this library: one folder a paper, each with its README and results.

``python -m experiments.<folder>`` runs one and writes its tables and figures; ``make experiments``
runs all of them.
"""
