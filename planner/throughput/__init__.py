"""Physics: step time, memory, scaling and the evidence behind them."""
