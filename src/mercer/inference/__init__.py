"""Variances, intervals and calibration, from the fit's own pass over the rows."""
