"""Training steps from dimensions alone: a network's operations, their gradients and what is kept for them."""
