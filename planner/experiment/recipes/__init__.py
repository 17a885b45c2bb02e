"""Training configurations of other tools, read as experiments: what they say, and what of it is not understood."""
