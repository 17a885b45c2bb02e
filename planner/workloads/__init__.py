"""What a model does per sample (the operation record), and the data sets models are trained on."""
