import torch.nn as nn


class EarlyExit(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.head = nn.Linear(32, 32), nn.Linear(32, 32), nn.Linear(32, 4)

    def forward(self, x):
        x = self.first(x)
        if x.abs().mean() > 0.5:  # what is computed depends on the numbers
            x = self.second(x)
        return self.head(x)
