"""How sure a model is: rows that were left out of it, intervals and calibration."""
