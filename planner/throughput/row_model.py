"""Which network a measured row ran, where a benchmark gives two of them one name, and on sequences of what length."""

from planner.hardware.accelerator import Accelerator
from planner.throughput.row_rate import MeasuredRow
from planner.throughput.row_software import Software

_LARGEST_BATCH_OF_VOLUMES = 8
# NVIDIA's PyTorch scripts of Transformer-XL: base ran in 0.8 to 2 sequences per GB of memory, large in 0.125 to 0.4.
_TRANSFORMER_XL_BASE_FROM_PER_GB = 0.45
# NVIDIA's loaders for PyTorch and PaddlePaddle (its LDDL) sort BERT's sequences of up to 512 tokens into bins of 64 and
# pad them to their bin, by 32 on average; half of the tokens would be padding to 512 (Krell et al., 2021, "Efficient
# sequence packing without cross-contamination").
_BINNED_LENGTH, _BINNED_TOKENS = 512, 512 // 2 + 32
_BINNING_FRAMEWORKS = ("pytorch", "paddle")


def model_meant(row: MeasuredRow, accelerator: Accelerator) -> str:
    """The row's model.

    nnU-Net runs volumes in batches of a few, slices in batches of dozens; NVIDIA's BERT tables state the length where
    they pre-train, and fine-tune BERT-large on SQuAD where they do not; its Transformer-XL tables list the base and the
    large network, which the batch tells apart.
    """
    name = row.get("model") or ""
    compact, batch = name.casefold().replace("-", "").replace("_", ""), _batch(row)
    if name == "BERT" and not (row.get("input") or "").strip():
        return "bert-large-squad"
    if compact == "nnunet":
        return "nnunet-3d" if batch is not None and batch <= _LARGEST_BATCH_OF_VOLUMES else "nnunet-2d"
    if name == "Transformer-XL" and _is_large(row, batch, accelerator):
        return "transformer-xl-large"
    return name


def tokens_run(row: MeasuredRow, length: int | None, software: Software) -> int | None:
    """Tokens of an average sequence of a row that states ``length``: fewer where short ones are not padded to it."""
    binned = row.get("model") == "BERT" and software.tuned and software.framework in _BINNING_FRAMEWORKS
    return _BINNED_TOKENS if binned and length == _BINNED_LENGTH else length


def _is_large(row: MeasuredRow, batch: int | None, accelerator: Accelerator) -> bool:
    """TensorFlow's scripts train the base network only."""
    if batch is None or accelerator.memory_bytes is None:
        return False
    written_for_pytorch = (row.get("framework_version") or "").casefold().startswith("pytorch")
    return written_for_pytorch and batch < _TRANSFORMER_XL_BASE_FROM_PER_GB * accelerator.memory_bytes / 1e9


def _batch(row: MeasuredRow) -> int | None:
    text = (row.get("batch_per_gpu") or "").strip()
    return int(text) if text.isdecimal() else None
