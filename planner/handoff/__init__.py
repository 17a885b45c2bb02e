"""Plans that leave the planner: launch files for other tools, locks, and two plans compared."""
