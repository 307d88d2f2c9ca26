"""Measurements against peers: in one run, interleaved, medians, as ratios.

``python -m benchmarks`` runs all and writes ``benchmarks/RESULTS.md``; name some to run only those:
``python -m benchmarks speed path``. Real data are found through ``MERCER_DATA`` or downloaded.
"""
