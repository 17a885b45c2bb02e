import torch.nn as nn


class Mobile(nn.Module):
    """Depthwise and grouped convolutions, put on the GPU by name as scripts do."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 32, 1, bias=False)
        self.depthwise = nn.Conv2d(32, 32, 3, padding=1, groups=32, bias=False)
        self.grouped = nn.Conv2d(32, 64, 3, padding=1, groups=4, bias=False)
        self.head = nn.Linear(64, 10)
        self.cuda()

    def forward(self, x):
        x = self.grouped(self.depthwise(self.stem(x.to("cuda"))))
        return self.head(x.mean(dim=(2, 3)))
