"""Published training runs, read into experiments and held against the product's times."""
