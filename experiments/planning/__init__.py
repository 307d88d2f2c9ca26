"""Plans against fits: expected errors and seconds, and those that came out.

Run it with ``python -m experiments.planning``.
"""
