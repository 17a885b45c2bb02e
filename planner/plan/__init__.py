"""Joins machines, step estimates and prices into a ranked plan."""
