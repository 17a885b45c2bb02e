"""What an hour of a machine costs. Knows nothing of the planner."""
