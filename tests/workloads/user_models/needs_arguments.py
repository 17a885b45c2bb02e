import argparse

import torch.nn as nn

parser = argparse.ArgumentParser()
parser.add_argument("data")
args = parser.parse_args()
model = nn.Linear(4, 4)
