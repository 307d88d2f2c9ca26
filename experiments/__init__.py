"""Papers run again with this library: one folder a paper, each with its README and results.

``python -m experiments.<folder>`` runs one and writes its tables and figures; ``make experiments``
runs all of them. Names of parts run some of it, ``--draw`` only draws what is kept, ``--resume``
goes on after an interruption, ``--small --out folder`` is a miniature; ``--help`` tells the rest.
What experiments share is in ``experiments.scaffold``.
"""
