"""Detection transformers by their published configurations: RT-DETR."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812

from planner.workloads.torch_trace import Inputs, trace_step
from tools.zoo.described.common import images
from tools.zoo.language import make_pretrained_class
from tools.zoo.spec import Recipe, Spec, Step

CITED = "Zhao et al. 2024, arXiv:2304.08069"
RECIPE = Recipe("coco", 4, 16, "adamw", f"{CITED} (16 per step on 4 GPUs)")
SIDE, CLASSES = 640, 80
# 300 queries, and the 200 denoising ones that training puts before them.
QUERIES = 500
# Fields of transformers' configurations, as the published weights have them.
BACKBONES: dict[str, dict[str, Any]] = {
    "rt-detr-r18": {"depths": [2, 2, 2, 2], "hidden_sizes": [64, 128, 256, 512], "layer_type": "basic"},
    "rt-detr-r50": {"depths": [3, 4, 6, 3], "hidden_sizes": [256, 512, 1024, 2048], "layer_type": "bottleneck"},
    "rt-detr-r101": {"depths": [3, 4, 23, 3], "hidden_sizes": [256, 512, 1024, 2048], "layer_type": "bottleneck"},
}
HEADS: dict[str, dict[str, Any]] = {
    "rt-detr-r18": {"encoder_in_channels": [128, 256, 512], "hidden_expansion": 0.5, "decoder_layers": 3},
    "rt-detr-r50": {},
    "rt-detr-r101": {"encoder_hidden_dim": 384, "encoder_ffn_dim": 2048, "decoder_in_channels": [384, 384, 384]},
}


def _spec(name: str) -> Spec:
    def build() -> Step:
        import transformers

        backbone = transformers.RTDetrResNetConfig(**BACKBONES[name], out_features=["stage2", "stage3", "stage4"])
        config = transformers.RTDetrConfig(
            backbone_config=backbone, num_labels=CLASSES, num_queries=QUERIES, **HEADS[name]
        )
        model = make_pretrained_class("AutoModelForObjectDetection", config, "eager")
        for autocast in (False, True):  # anchors are made once for each type and kept
            trace_step(model, (images(1, SIDE),), _loss, autocast=autocast)
        return Step(model, lambda batch: (images(batch, SIDE),), _loss)

    return Spec(
        name=name,
        task="object detection",
        family="rt-detr",
        source=f"configuration: {CITED}, traced on the meta device",
        build=build,
        recipe=RECIPE,
        batches=(2, 4),
        extras={"image_size": SIDE, "sample_unit": "image"},
        notes=("matching predictions to objects, on the CPU in most code, is not in it",),
    )


def _loss(model: Any, inputs: Inputs) -> torch.Tensor:
    """Class scores and boxes of every decoder layer; no tensor on the meta device can be asked whether it is finite."""
    for module in model.modules():
        if type(module).__name__ == "RTDetrEncoderLayer":
            module.training = False
    found = model(*inputs)
    scores, boxes = found.intermediate_logits, found.intermediate_reference_points
    loss = F.binary_cross_entropy_with_logits(scores.float(), torch.empty_like(scores, dtype=torch.float32))
    loss = loss + F.l1_loss(boxes.float(), torch.empty_like(boxes, dtype=torch.float32))
    return loss + found.enc_topk_logits.float().mean() + found.enc_topk_bboxes.float().mean()


def specs() -> list[Spec]:
    return [_spec(name) for name in BACKBONES]
