"""Describe and trace the models of the shipped zoo. Needs torch, timm, torchvision and transformers; never weights."""
