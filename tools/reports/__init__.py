"""Public reports of training runs, replayed through the product."""
