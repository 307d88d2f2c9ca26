"""Measurements against peers: in one run, interleaved, medians, as ratios.

``python -m benchmarks`` runs all and writes ``benchmarks/RESULTS.md``; name some to run only those:
``python -m benchmarks speed path``. Real data are found through ``MERCER_DATA`` or downloaded.

``python -m benchmarks --against ../other`` compares this checkout with another one instead, in
alternation; ``--small`` takes two minutes, ``--out`` also writes the table to a file.
"""
