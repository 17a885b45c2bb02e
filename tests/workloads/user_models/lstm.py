import torch
from torch import nn


class Classifier(nn.Module):
    def __init__(self, vocab_size, embed_dim=100, hidden=128, classes=2):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embed_dim, padding_idx=0)
        self.lstm = nn.LSTM(embed_dim, hidden, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(2 * hidden, classes)

    def forward(self, text):
        _, (h, _) = self.lstm(self.embedding(text))
        return self.fc(torch.cat([h[-2], h[-1]], dim=1))
