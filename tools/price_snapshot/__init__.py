"""The parts of the price snapshot's builder: rows and their faults, places, instance types, the file."""
