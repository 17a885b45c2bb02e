"""The terminal app: the planner as something to sit in front of."""
