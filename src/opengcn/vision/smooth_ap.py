"""Smooth-AP: a differentiable average precision (Brown et al., ECCV 2020)."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["smooth_ap_loss"]

TEMPERATURE = 0.01


def smooth_ap_loss(embeddings: Tensor, per_class: int, temperature: float = TEMPERATURE) -> Tensor:
    r"""Return one minus the mean smooth average precision of a class-balanced batch.

    With similarities s and the class P of row i, itself included, the smooth rank of j in P
    among a set S is :math:`R(j, S) = 1 + \sum_{k \in S, k \ne j} \sigma((s_{ik} - s_{ij}) / t)`,
    and

    .. math:: AP_i = \frac{1}{|P|} \sum_{j \in P} \frac{R(j, P)}{R(j, \text{all})}.

    Ranks are needed of the members of a class only, so memory and time grow with
    n^2 `per_class`, not with n^3. (``SmoothAPLoss`` of pytorch-metric-learning 2.9 gives the same
    value where a batch has as many classes as rows of each, and confuses the two elsewhere.)

    Parameters
    ----------
    embeddings : Tensor of shape (n, D)
        Unit vectors; the rows of a class follow each other.
    per_class : int
        Rows of each class, a divisor of n.
    temperature : float, default 0.01
        Of the sigmoid: the lower, the closer to a rank and the sparser the gradient.

    Returns
    -------
    loss : Tensor of shape ()
        0 for a perfect ranking.

    Examples
    --------
    >>> import torch
    >>> embeddings = torch.eye(3).repeat_interleave(2, 0)  # three classes of two, all apart
    >>> round(float(smooth_ap_loss(embeddings, per_class=2)), 6)
    0.0
    """
    n = len(embeddings)
    similarity = embeddings @ embeddings.T
    first = torch.arange(n, device=embeddings.device) // per_class * per_class
    members = first[:, None] + torch.arange(per_class, device=embeddings.device)
    own = similarity.gather(1, members)
    # above[i, j, k]: how surely k ranks above the j-th member of the class of i.
    above = torch.sigmoid((similarity[:, None, :] - own[:, :, None]) / temperature)
    within = above.gather(2, members[:, None, :].expand(-1, per_class, -1))
    # Every sum holds k = j, which is sigmoid(0) = 1/2 where the rank has 1.
    precision = (within.sum(2) + 0.5) / (above.sum(2) + 0.5)
    return 1 - precision.mean()
