import torch
from torch import nn


def double_conv(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(inplace=True),
                         nn.Conv2d(o, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(inplace=True))


class UNet(nn.Module):
    def __init__(self, channels=3, classes=1, width=16):
        super().__init__()
        self.down1, self.down2 = double_conv(channels, width), double_conv(width, 2 * width)
        self.bottom = double_conv(2 * width, 4 * width)
        self.up2 = nn.ConvTranspose2d(4 * width, 2 * width, 2, stride=2)
        self.dec2 = double_conv(4 * width, 2 * width)
        self.up1 = nn.ConvTranspose2d(2 * width, width, 2, stride=2)
        self.dec1 = double_conv(2 * width, width)
        self.out = nn.Conv2d(width, classes, 1)

    def forward(self, x):
        s1 = self.down1(x)
        s2 = self.down2(nn.functional.max_pool2d(s1, 2))
        x = self.bottom(nn.functional.max_pool2d(s2, 2))
        x = self.dec2(torch.cat([self.up2(x), s2], dim=1))
        x = self.dec1(torch.cat([self.up1(x), s1], dim=1))
        return self.out(x)


def dice_bce(model, images, masks):
    logits = model(images)
    p = torch.sigmoid(logits)
    dice = 1 - (2 * (p * masks).sum() + 1) / (p.sum() + masks.sum() + 1)
    return dice + nn.functional.binary_cross_entropy_with_logits(logits, masks)
