"""A small convolutional network for drawn characters and other simple images."""

from __future__ import annotations

from torch import nn

__all__ = ["small_network"]

WIDTHS = (32, 64, 128, 128)
GRID = 3  # the last layer is averaged to so many rows and columns: strokes have a place


def small_network() -> nn.Module:
    """Return a network that trains from scratch in minutes without a graphics card.

    Returns
    -------
    network : torch.nn.Module
        From images of shape (n, 3, height, width), 24 pixels or more a side, to features of
        shape (n, 1152).
    """
    layers: list[nn.Module] = []
    before = 3
    for width in WIDTHS:
        layers += [
            nn.Conv2d(before, width, 3, padding=1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.MaxPool2d(2),
        ]
        before = width
    layers[-1] = nn.AdaptiveAvgPool2d(GRID)
    return nn.Sequential(*layers, nn.Flatten())
