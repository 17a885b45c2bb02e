"""Fit the constants of the throughput model on measured rows. Needs numpy and scipy; never runs at run time."""
