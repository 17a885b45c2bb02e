"""Accelerators, links and machines: what the hardware can do, with a source for every value."""
