"""Devices; where there is no graphics card, torch is told that there is one."""

from __future__ import annotations

import pytest
import torch

from opengcn import OpenGCNError
from opengcn.vision.devices import choose_device, mixed_precision


def test_automatic_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    for there, expected in ((True, "cuda"), (False, "cpu")):
        monkeypatch.setattr(torch.cuda, "is_available", lambda there=there: there)
        assert choose_device("auto") == expected
        assert choose_device("cpu") == "cpu"
    with pytest.raises(OpenGCNError, match="expected a graphics card for cuda"):
        choose_device("cuda")
    with pytest.raises(OpenGCNError, match="device: expected auto, cpu or cuda, received 'tpu'"):
        choose_device("tpu")


@pytest.mark.parametrize("native", [True, False])
def test_bfloat16_where_the_card_has_it(native: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, torch.dtype]] = []
    monkeypatch.setattr(
        torch.cuda,
        "is_bf16_supported",
        lambda including_emulation=True: native or including_emulation,
    )
    monkeypatch.setattr(torch, "autocast", lambda *how: asked.append(how))
    mixed_precision("cuda")
    mixed_precision("cpu")
    assert asked == ([("cuda", torch.bfloat16)] if native else [])
