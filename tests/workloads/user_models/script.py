import argparse
import sys

import torch.nn as nn

print("loading", sys.argv)
parser = argparse.ArgumentParser()
parser.add_argument("--width", type=int, default=64)
args = parser.parse_args()
print(f"width is {args.width}")

model = nn.Sequential(nn.Flatten(), nn.Linear(28 * 28, args.width), nn.ReLU(), nn.Linear(args.width, 10))

if __name__ == "__main__":
    raise SystemExit("this would train for hours")
