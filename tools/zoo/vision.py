"""Image classifiers of timm and torchvision, traced with a cross-entropy loss at their training size."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812

from planner.workloads.torch_trace import Inputs
from tools.zoo import recipes
from tools.zoo.spec import Recipe, Spec, Step

TIMM_MODELS = Path(__file__).parent / "timm_models.txt"
IMAGENET_CLASSES = 1000
BATCHES = (32, 64)  # the peak is convex in the batch: traced where image models are trained

_RECIPE_BY_PREFIX: dict[str, Recipe] = {
    "alexnet": recipes.ALEXNET,
    "vgg": recipes.VGG,
    "inception": recipes.INCEPTION,
    "mobilenet": recipes.MOBILE,
    "mnasnet": recipes.MOBILE,
    "efficientnet": recipes.EFFICIENTNET,
    "tf_efficientnet": recipes.EFFICIENTNET,
    "swin": recipes.SWIN,
    "convnext": recipes.CONVNEXT,
}
_TRANSFORMER_PREFIXES = (
    "vit",
    "deit",
    "beit",
    "cait",
    "xcit",
    "crossvit",
    "coat",
    "pit",
    "levit",
    "twins",
    "tnt",
    "convit",
    "eva",
    "mvit",
    "maxvit",
    "visformer",
    "poolformer",
    "mixer",
    "resmlp",
    "gmlp",
    "volo",
    "flexivit",
    "samvit",
    "sequencer",
    "edgenext",
    "mobilevit",
    "efficientformer",
    "davit",
    "focalnet",
    "nest",
    "jx_nest",
    "gcvit",
    "hiera",
    "swin",
    "maxxvit",
    "coatnet",
    "pvt",
    "caformer",
    "convformer",
    "fastvit",
    "nextvit",
    "tiny_vit",
    "metaformer",
)


def recipe_of(name: str) -> Recipe:
    for prefix, recipe in _RECIPE_BY_PREFIX.items():
        if name.startswith(prefix):
            return recipe
    return recipes.VIT if name.startswith(_TRANSFORMER_PREFIXES) else recipes.IMAGENET_SGD


def family_of(name: str) -> str:
    """The letters before the first digit or underscore: resnet50 -> resnet, vit_base_patch16_224 -> vit."""
    parts = name.removeprefix("tf_").removeprefix("gluon_").removeprefix("legacy_").split("_")
    head = parts[0].rstrip("0123456789")
    return "".join(character for character in head if not character.isdecimal()) or parts[0]


def classification_step(model: Any, size: int, channels: int = 3) -> Step:
    """Images of ``size`` x ``size`` with class labels."""

    def inputs(batch: int) -> Inputs:
        images = torch.empty(batch, channels, size, size, device="meta")
        return images, torch.empty(batch, dtype=torch.long, device="meta")

    return Step(model, inputs, _cross_entropy)


def _cross_entropy(model: Any, inputs: Inputs) -> torch.Tensor:
    images, labels = inputs
    output = model(images)
    if isinstance(output, tuple):  # auxiliary heads, weighted as torchvision's reference script does
        main, *auxiliary = output
        return F.cross_entropy(main, labels) + 0.3 * sum(F.cross_entropy(head, labels) for head in auxiliary)  # type: ignore[return-value]
    return F.cross_entropy(output, labels)


def listed_timm_specs() -> list[Spec]:
    """The models of timm_models.txt: a name, its own image size, then sizes recorded besides as ``name@size``."""
    specs = []
    for line in TIMM_MODELS.read_text(encoding="utf-8").splitlines():
        name, own_size, *more_sizes = line.split()
        specs.append(timm_spec(name, int(own_size)))
        specs += [timm_spec(name, int(size), record_name=f"{name}@{size}") for size in more_sizes]
    return specs


def timm_spec(name: str, size: int, *, record_name: str | None = None, fused_attention: bool = True) -> Spec:
    """A timm model with 1,000 classes at ``size``; without ``fused_attention`` scores are stored, as torch 1 did."""
    import timm

    def build() -> Step:
        timm.layers.set_fused_attn(fused_attention)
        return classification_step(_timm_model(name, size), size)

    return _image_spec(record_name or name, name, size, build, f"timm {timm.__version__}")


def _timm_model(name: str, size: int) -> Any:
    """Models with position tables must be told the image size; convolutional ones do not take it."""
    import timm

    config = timm.get_pretrained_cfg(name)
    with torch.device("meta"):
        if config is not None and config.input_size[-1] != size:
            with contextlib.suppress(TypeError):
                return timm.create_model(name, num_classes=IMAGENET_CLASSES, img_size=size)
        return timm.create_model(name, num_classes=IMAGENET_CLASSES)


def torchvision_spec(name: str, record_name: str | None = None, size: int | None = None) -> Spec:
    """A torchvision classifier, untrained."""
    import torchvision

    trained_size = size or (299 if name == "inception_v3" else 224)

    def build() -> Step:
        options = {"init_weights": False} if name in ("googlenet", "inception_v3") else {}
        with torch.device("meta"):
            model = torchvision.models.get_model(name, weights=None, **options)
        return classification_step(model, trained_size)

    version = torchvision.__version__.partition("+")[0]
    return _image_spec(record_name or name, name, trained_size, build, f"torchvision {version}")


def _image_spec(record_name: str, name: str, size: int, build: Callable[[], Step], library: str) -> Spec:
    return Spec(
        name=record_name,
        task="image classification",
        family=family_of(name),
        source=f"{library}, traced on the meta device",
        build=build,
        recipe=recipe_of(name),
        batches=BATCHES,
        extras={"image_size": size, "sample_unit": "image"},
    )
