"""Kernel conjugate gradients with random projections (Lin and Cevher, 2018), section 4.

``python -m experiments.kernel_conjugate_gradients`` runs it and writes tables and figures.
"""
