"""ResNet-50 in plain torch, with the names that the usual weight files use."""

from __future__ import annotations

import torch
from torch import Tensor, nn

__all__ = ["resnet50"]

EXPANSION = 4  # the last convolution of a block widens by this factor


class _Bottleneck(nn.Module):
    """1x1, 3x3, 1x1 with a shortcut; the 3x3 carries the stride (ResNet "v1.5")."""

    def __init__(self, before: int, width: int, stride: int) -> None:
        super().__init__()
        after = EXPANSION * width
        self.conv1 = nn.Conv2d(before, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, after, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(after)
        self.downsample: nn.Module = nn.Identity()
        if stride > 1 or before != after:
            self.downsample = nn.Sequential(
                nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after)
            )

    def forward(self, x: Tensor) -> Tensor:
        y = torch.relu(self.bn1(self.conv1(x)))
        y = torch.relu(self.bn2(self.conv2(y)))
        return torch.relu(self.bn3(self.conv3(y)) + self.downsample(x))


class _ResNet(nn.Module):
    def __init__(self, blocks: tuple[int, int, int, int]) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, 2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.maxpool = nn.MaxPool2d(3, 2, padding=1)
        before = 64
        for stage, count in enumerate(blocks, start=1):
            width = 32 * 2**stage
            layers = []
            for block in range(count):
                stride = 2 if block == 0 and stage > 1 else 1
                layers.append(_Bottleneck(before, width, stride))
                before = EXPANSION * width
            self.add_module(f"layer{stage}", nn.Sequential(*layers))

    def forward(self, x: Tensor) -> Tensor:
        x = self.maxpool(torch.relu(self.bn1(self.conv1(x))))
        for stage in range(1, 5):
            x = self.get_submodule(f"layer{stage}")(x)
        return x.mean((2, 3))


def resnet50() -> nn.Module:
    """Return a ResNet-50 without its classifier.

    Returns
    -------
    network : torch.nn.Module
        From images of shape (n, 3, height, width) to features of shape (n, 2048), with
        random weights. Weight files for torchvision's ``resnet50`` fit, apart from ``fc``.
    """
    network = _ResNet((3, 4, 6, 3))
    for module in network.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
    return network
