"""`opengcn embed`: from images to embeddings."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from opengcn import __version__
from opengcn.cli.app import app
from opengcn.cli.output import Json, check_writable, collecting_warnings, facts, people, print_json

if TYPE_CHECKING:
    from opengcn.vision import Backbone, Embedder, ImageSet, Recipe

__all__ = ["embed"]

COUNT_RECALL = 50_000  # rows: comparing more of them takes minutes

TRAINING, BACKBONE, IMAGES_PANEL = "Training", "Backbone", "Which images"


@app.command()
def embed(
    images: Annotated[
        Path,
        typer.Argument(
            help="A folder of class folders; CUB-200-2011, Cars-196 or iNaturalist-2018 as "
            "distributed; or a .npz pack.",
        ),
    ],
    output: Annotated[
        str, typer.Option("--output", "-o", help="The .parquet file to write the embeddings to.")
    ],
    part: Annotated[
        Literal["all", "train", "open", "cal", "test", "head", "tail"],
        typer.Option(
            help="train: the first half of the classes; open: the others; cal and test: a tenth "
            "of the open classes at random, and the rest; head and tail: the largest open "
            "classes and the rest, with as many images each.",
            rich_help_panel=IMAGES_PANEL,
        ),
    ] = "all",
    shift: Annotated[
        str | None,
        typer.Option(
            help="Change every image first: one of the 13 corruptions of the paper (fog, "
            "gaussian_noise, ...), or sketch.",
            rich_help_panel=IMAGES_PANEL,
        ),
    ] = None,
    severity: Annotated[
        int, typer.Option(min=1, max=5, help="Of the corruption.", rich_help_panel=IMAGES_PANEL)
    ] = 3,
    checksum: Annotated[
        Literal["sizes", "contents"],
        typer.Option(
            help="What tells that images are those of the cache: names and sizes of the files, "
            "or their contents too, which are then read twice.",
            rich_help_panel=IMAGES_PANEL,
        ),
    ] = "sizes",
    embedder: Annotated[
        Path | None,
        typer.Option(help="Use this embedder, which --train wrote.", rich_help_panel=BACKBONE),
    ] = None,
    backbone: Annotated[
        str | None,
        typer.Option(
            help="efficientnet_lite0 (unless given), resnet50, small, an .onnx file, or "
            "module:object with a torch network or a function of your own.",
            rich_help_panel=BACKBONE,
        ),
    ] = None,
    weights: Annotated[
        Path | None,
        typer.Option(
            help="Weights of the backbone (.safetensors or .pth), e.g. torchvision's for resnet50.",
            rich_help_panel=BACKBONE,
        ),
    ] = None,
    size: Annotated[
        int | None,
        typer.Option(min=24, help="Side of the images in pixels [224].", rich_help_panel=BACKBONE),
    ] = None,
    scaling: Annotated[
        Literal["imagenet", "centred", "unit", "raw"] | None,
        typer.Option(
            help="What an .onnx file or a torch network of your own expects instead of 0 to 255: "
            "ImageNet's mean and deviation (unless given), (x - 127) / 128, x / 255, or x.",
            rich_help_panel=BACKBONE,
        ),
    ] = None,
    device: Annotated[
        Literal["auto", "cpu", "cuda"],
        typer.Option(help="Where torch networks run.", rich_help_panel=BACKBONE),
    ] = "auto",
    train: Annotated[
        Path | None,
        typer.Option(
            help="First train an embedder on the training classes, and write it to this file.",
            rich_help_panel=TRAINING,
        ),
    ] = None,
    fine_tune: Annotated[
        bool,
        typer.Option(
            "--fine-tune",
            help="Train the backbone too, not just a head on its features.",
            rich_help_panel=TRAINING,
        ),
    ] = False,
    dim: Annotated[
        int, typer.Option(min=2, help="Dimensions of the embedding.", rich_help_panel=TRAINING)
    ] = 128,
    epochs: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Passes over the images; 5 for a head and 100 for a whole network unless given.",
            rich_help_panel=TRAINING,
        ),
    ] = None,
    batch: Annotated[
        int, typer.Option(min=4, help="Images of a batch.", rich_help_panel=TRAINING)
    ] = 256,
    per_class: Annotated[
        int, typer.Option(min=2, help="Images of a class in it.", rich_help_panel=TRAINING)
    ] = 4,
    rate: Annotated[
        float,
        typer.Option(
            help="Learning rate of the head, and of a network without weights.",
            rich_help_panel=TRAINING,
        ),
    ] = 1e-3,
    backbone_rate: Annotated[
        float,
        typer.Option(help="The same of a pretrained backbone.", rich_help_panel=TRAINING),
    ] = 1e-5,
    flip: Annotated[
        bool,
        typer.Option(
            help="Mirror images at random when fine-tuning. Not for writing.",
            rich_help_panel=TRAINING,
        ),
    ] = True,
    seed: Annotated[
        int, typer.Option(min=0, help="Seed of the training, and of the parts cal and test.")
    ] = 0,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume/--restart",
            help="Go on where an earlier run was interrupted, or begin anew.",
        ),
    ] = True,
    json: Json = False,
) -> None:
    r"""Turn images into a .parquet file of embeddings, with their classes and ids.

    With any folder of class folders, and nothing to train:

        opengcn embed photos -o photos.parquet

    As in the paper, from images to the sets that `opengcn fit` and `opengcn threshold` take: an
    embedder trained with Smooth-AP on the first half of the classes, here as a head on frozen
    features, then the parts of the data set.

        opengcn embed CUB_200_2011 --size 224 --train cub.safetensors --part train -o train.parquet

        opengcn embed CUB_200_2011 --embedder cub.safetensors --part cal -o cal.parquet

        opengcn embed CUB_200_2011 --embedder cub.safetensors --part test -o test.parquet

    The same test images in fog, and the whole network trained on a graphics card:

        opengcn embed CUB_200_2011 --embedder cub.safetensors --part test --shift fog -o fog.parquet

        opengcn embed CUB_200_2011 --backbone resnet50 --weights resnet50.pth --fine-tune \
                      --train cub.safetensors --part train -o train.parquet

    Features and unfinished training are kept in the user's cache folder (`OPENGCN_CACHE` moves
    it): a command that was interrupted goes on where it was, with the same result, and one on
    the same images and the same backbone starts from the features. Needs `opengcn[vision]`.
    """
    check_writable(output, None if train is None else str(train))
    if not output.lower().endswith(".parquet"):
        raise typer.BadParameter(f"expected a name in .parquet, received {output}", param_hint="-o")
    chosen = {"backbone": backbone, "weights": weights, "size": size, "scaling_name": scaling}
    if embedder is not None and (train is not None or any(v is not None for v in chosen.values())):
        raise typer.BadParameter(
            "expected --embedder alone: the file says which backbone, weights, size and scaling"
        )
    if fine_tune and train is None:
        raise typer.BadParameter("expected --train FILE with --fine-tune")

    from opengcn.vision import Embedder, Recipe, Shift, load_backbone, read_images, take_part

    change = None if shift is None else Shift(shift, severity)
    with collecting_warnings() as notes:
        found = read_images(images)
        if checksum == "contents":
            found = found.with_checksums()
        wanted = take_part(found, part, seed)
        begin = time.perf_counter()
        if embedder is not None:
            model = Embedder.load(embedder, device=device)
        else:
            name = chosen.pop("backbone") or "efficientnet_lite0"
            base = load_backbone(str(name), device=device, seed=seed, **chosen)  # type: ignore[arg-type]
            if train is None:
                model = Embedder(base)
            else:
                recipe = Recipe(
                    dim=dim,
                    fine_tune=fine_tune,
                    epochs=epochs,
                    batch=batch,
                    per_class=per_class,
                    rate=rate,
                    backbone_rate=backbone_rate,
                    flip=flip,
                    seed=seed,
                )
                model = _trained(take_part(found, "train"), base, recipe, train, resume, device)
        trained = time.perf_counter()
        model.write(wanted, Path(output), change, resume=resume)
        ended = time.perf_counter()
    answer: dict[str, Any] = {
        "images": str(images),
        "part": part,
        "shift": None if change is None else str(change),
        "backbone": model.backbone.name,
        "size": model.backbone.size,
        "rows": len(wanted),
        "classes": len(set(wanted.codes.tolist())),
        **_measured(Path(output), len(wanted)),
        "embedder": str(train or embedder) if train or embedder else None,
        "seconds_training": round(trained - begin, 1),
        "seconds_embedding": round(ended - trained, 1),
        "output": output,
        "notes": notes,
        "version": __version__,
    }
    if json:
        print_json(answer)
    else:
        people().print(facts(_told(answer)))


def _trained(
    images: ImageSet, base: Backbone, recipe: Recipe, file: Path, resume: bool, device: str
) -> Embedder:
    """Train and keep an embedder, unless the file holds the result of the same training."""
    from opengcn.vision import Embedder, train_embedder
    from opengcn.vision.embedder_training import training_identity

    if resume and file.exists():
        there = Embedder.load(file, device=device)
        if there.identity == training_identity(images, base, recipe):
            return there
    model = train_embedder(images, base, recipe, resume=resume)
    model.save(file)
    return model


def _measured(output: Path, rows: int) -> dict[str, Any]:
    from opengcn.embeddings import EmbeddingSet
    from opengcn.errors import DataError
    from opengcn.vision import recall_at_1

    written = EmbeddingSet.load(output)
    recall = None
    if rows <= COUNT_RECALL:
        try:
            recall = recall_at_1(written)
        except DataError:  # no class has two images: nothing to recall
            recall = None
    return {"dim": written.dim, "recall_at_1": recall}


def _told(answer: dict[str, Any]) -> list[tuple[str, str]]:
    shift = f", {answer['shift']}" if answer["shift"] else ""
    rows = [
        (
            "images",
            f"{answer['images']}, part {answer['part']}{shift}: {answer['rows']:,} of "
            f"{answer['classes']:,} classes",
        ),
        ("backbone", f"{answer['backbone']}, {answer['size']} pixels"),
    ]
    if answer["embedder"]:
        rows.append(("embedder", f"{answer['embedder']} ({answer['seconds_training']:.0f} s)"))
    quality = answer["recall_at_1"]
    told = "" if quality is None else f", recall@1 {100 * quality:.1f} %"
    rows.append(
        (
            "embeddings",
            f"{answer['output']}: {answer['dim']} dimensions{told} "
            f"({answer['seconds_embedding']:.0f} s)",
        )
    )
    return rows
