import torch
import torch.nn as nn
import torch.nn.functional as F


class Generator(nn.Module):
    def __init__(self, z=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(z, 256), nn.ReLU(), nn.Linear(256, 784), nn.Tanh())

    def forward(self, z):
        return self.net(z)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(784, 256), nn.LeakyReLU(0.2), nn.Linear(256, 1))

    def forward(self, x):
        return self.net(x)


class GAN(nn.Module):
    def __init__(self):
        super().__init__()
        self.g, self.d = Generator(), Discriminator()
        self.opt_g = torch.optim.Adam(self.g.parameters(), lr=2e-4)
        self.opt_d = torch.optim.Adam(self.d.parameters(), lr=2e-4)

    def training_step(self, batch):
        real = batch[0].flatten(1)
        ones, zeros = torch.ones(len(real), 1), torch.zeros(len(real), 1)
        fake = self.g(torch.randn(len(real), 64))
        self.opt_d.zero_grad()
        d_loss = F.binary_cross_entropy_with_logits(self.d(real), ones)
        d_loss = d_loss + F.binary_cross_entropy_with_logits(self.d(fake.detach()), zeros)
        d_loss.backward()
        self.opt_d.step()
        self.opt_g.zero_grad()
        g_loss = F.binary_cross_entropy_with_logits(self.d(fake), ones)
        g_loss.backward()
        self.opt_g.step()
        return {"g": g_loss.detach(), "d": d_loss.detach()}
