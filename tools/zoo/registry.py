"""Which models the shipped zoo holds."""

from __future__ import annotations

from tools.zoo import audio_models, detection_transformers, language, language_models
from tools.zoo.described import (
    captioning,
    detection,
    diffusion,
    graph,
    moe,
    nano,
    recommendation,
    segmentation,
    small,
    speech,
    stylegan,
    synthesis,
    tacotron,
    transformer_xl,
    translation,
    two_stage,
    volume_transformers,
    yolo,
    yolo_attention,
)
from tools.zoo.spec import Spec
from tools.zoo.vision import listed_timm_specs, torchvision_spec

_TORCHVISION = [
    "alexnet",
    "googlenet",
    "squeezenet1_0",
    "squeezenet1_1",
    "mnasnet0_5",
    "mnasnet0_75",
    "mnasnet1_0",
    "mnasnet1_3",
    "mobilenet_v2",
    "mobilenet_v3_large",
    "mobilenet_v3_small",
    "shufflenet_v2_x0_5",
    "shufflenet_v2_x1_0",
    "shufflenet_v2_x1_5",
    "shufflenet_v2_x2_0",
    "swin_v2_t",
    "swin_v2_s",
    "swin_v2_b",
    "maxvit_t",
]
_DESCRIBED = (
    captioning,
    detection,
    diffusion,
    graph,
    moe,
    nano,
    recommendation,
    segmentation,
    small,
    speech,
    stylegan,
    synthesis,
    tacotron,
    transformer_xl,
    translation,
    two_stage,
    volume_transformers,
    yolo,
    yolo_attention,
)


def zoo_specs() -> list[Spec]:
    """Every record to ship, in no particular order."""
    vision = listed_timm_specs()
    vision += [torchvision_spec(name) for name in _TORCHVISION]
    by_hand = [spec for module in _DESCRIBED for spec in module.specs()]
    return [
        *by_hand,
        *vision,
        *language.bert_specs(),
        *language_models.specs(),
        *audio_models.specs(),
        *detection_transformers.specs(),
    ]
