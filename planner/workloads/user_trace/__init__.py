"""What runs in the user's interpreter to trace their model. Needs torch and ``torch_trace``, nothing of the planner."""
