"""The parts of tools/build_accelerators.py, and the tables of judgement they read."""
