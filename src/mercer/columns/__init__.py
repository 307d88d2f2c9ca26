"""Columns of a table: numbers, categories, gaps and dates become numbers.

What is learned of a column is a sum over rows.
"""
