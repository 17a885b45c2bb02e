"""Batch and optimizer assumed for a model nobody has published a recipe of: by the kind of its input, and said so."""

from typing import NamedTuple


class AssumedRecipe(NamedTuple):
    """As ``Workload`` has it; ``source`` says that it is an assumption."""

    batch_size_per_gpu: int
    max_global_batch_size: int
    optimizer: str
    sample_unit: str
    source: str


def assumed_recipe(image_size: int | None, seq_length: int | None) -> AssumedRecipe:
    """What most people would start with; -b, --global-batch-size and --optimizer replace it."""
    if seq_length is not None:
        tokens = max(1, (1 << 15) // seq_length)
        source = "assumed, for a model of your own: 32,768 tokens per GPU, 4 million in all"
        return AssumedRecipe(tokens, max(tokens, (1 << 22) // seq_length), "adamw", "sequence", source)
    if image_size is not None:
        source = "assumed, for a model of your own: He et al. 2016 (256 per step); Goyal et al. 2017 (up to 8,192)"
        return AssumedRecipe(256, 8192, "adamw", "image", source)
    return AssumedRecipe(128, 8192, "adamw", "sample", "assumed, for a model of your own")
