"""gpuplanner: where to train a model, how long it takes and what it costs."""

__version__ = "0.1.0"
