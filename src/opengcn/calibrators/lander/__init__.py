"""Hi-LANDER: clustering by a graph network, level by level.

Xing et al., "Learning Hierarchical Graph Neural Networks for Image Clustering", ICCV 2021, written
anew from the paper's description.
"""

from opengcn.calibrators.lander.model import Lander

__all__ = ["Lander"]
