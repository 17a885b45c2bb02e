"""What is in this machine, found without torch."""
