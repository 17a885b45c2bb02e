"""A LightningModule's habits without the library: it logs, and asks its trainer for the optimizers."""
import torch
import torch.nn.functional as F
from torch import nn


class LightningModule(nn.Module):
    def log(self, *args, **kwargs):
        raise RuntimeError("self.log() needs a trainer")

    def optimizers(self):
        raise RuntimeError("there is no trainer")

    def manual_backward(self, loss):
        raise RuntimeError("there is no trainer")


class LitClassifier(LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.body = nn.Sequential(nn.Conv2d(3, 16, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 5))

    def training_step(self, batch, batch_idx):
        images, labels = batch
        optimizer = self.optimizers()
        optimizer.zero_grad()
        loss = F.cross_entropy(self.body(images), labels)
        self.manual_backward(loss)
        optimizer.step()
        self.log("train_loss", loss)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3)
