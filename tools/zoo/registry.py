"""Which models the shipped zoo holds."""

from __future__ import annotations

from tools.zoo import language
from tools.zoo.spec import Spec
from tools.zoo.vision import timm_spec, torchvision_spec

_CORE_TIMM = """
resnet18 resnet34 resnet50 resnet101 resnet152 wide_resnet50_2 resnext50_32x4d
vgg11 vgg13 vgg16 vgg19 vgg11_bn vgg13_bn vgg16_bn vgg19_bn inception_v3 densenet121
mobilenetv2_100 mobilenetv3_large_100 mobilenetv3_small_100
efficientnet_b0 efficientnet_b1 efficientnet_b2 efficientnet_b3 efficientnet_b4 efficientnet_b5
tf_efficientnet_b6 tf_efficientnet_b7 convnext_tiny convnext_small convnext_base
vit_tiny_patch16_224 vit_small_patch16_224 vit_base_patch16_224 vit_large_patch16_224
swin_tiny_patch4_window7_224 swin_small_patch4_window7_224 swin_base_patch4_window7_224
""".split()
_CORE_TORCHVISION = ("alexnet", "googlenet", "squeezenet1_0", "squeezenet1_1")


def zoo_specs() -> list[Spec]:
    """Every record to ship, in no particular order."""
    vision = [timm_spec(name) for name in _CORE_TIMM]
    vision += [torchvision_spec(name) for name in _CORE_TORCHVISION]
    return [*vision, *language.core_specs()]
