"""From images to embeddings: data sets, shifts, training, extraction (extra ``vision``)."""

from opengcn.vision.backbones import Backbone as Backbone
from opengcn.vision.backbones import FunctionBackbone as FunctionBackbone
from opengcn.vision.backbones import NetworkBackbone as NetworkBackbone
from opengcn.vision.embedder import Embedder as Embedder
from opengcn.vision.embedder_training import train_embedder as train_embedder
from opengcn.vision.image_set import ImageSet as ImageSet
from opengcn.vision.layouts import read_images as read_images
from opengcn.vision.named_backbones import load_backbone as load_backbone
from opengcn.vision.recall import recall_at_1 as recall_at_1
from opengcn.vision.shifts import CORRUPTIONS as CORRUPTIONS
from opengcn.vision.shifts import SHIFTS as SHIFTS
from opengcn.vision.shifts import Shift as Shift
from opengcn.vision.splits import Part as Part
from opengcn.vision.splits import take_part as take_part
from opengcn.vision.training import Recipe as Recipe

__all__ = [
    "CORRUPTIONS",
    "SHIFTS",
    "Backbone",
    "Embedder",
    "FunctionBackbone",
    "ImageSet",
    "NetworkBackbone",
    "Part",
    "Recipe",
    "Shift",
    "load_backbone",
    "read_images",
    "recall_at_1",
    "take_part",
    "train_embedder",
]
