"""The operation record of a model: what one training step does, as functions of the batch size B.

Every quantity is linear in B: ``a + b * B``. Recorded under autocast (2-byte matrix operands, fp32 master weights);
the same step in fp32 is derived by :meth:`Workload.as_fp32`.
"""

from typing import Literal, NamedTuple

Phase = Literal["forward", "backward"]


class Linear(NamedTuple):
    """A quantity linear in the batch size: ``fixed + per_sample * B``."""

    fixed: float
    per_sample: float

    def at(self, batch_size: float) -> float:
        return self.fixed + self.per_sample * batch_size

    def scaled(self, factor: float) -> "Linear":
        return Linear(self.fixed * factor, self.per_sample * factor)


class Operation(NamedTuple):
    """Operations of one class merged: MODEL class (conv, conv_dg, mm, bn, ew ...), phase, element size and shape key.

    ``width`` is sqrt(Cin/G * Cout/G) and ``groups`` G for grouped convolutions, ``width`` the head's for fused
    attention and the fewer of Cin and Cout of an ordinary convolution where it is below 8; ``kernel_size`` k for
    depthwise convolutions, of ordinary ones the window's shorter side (1 of 1 x 7, and of one dimension); 0 where it
    has no meaning or is not known. ``stride`` is that of both kinds of convolution.
    ``flops`` counts a multiply-add as 2; ``bytes`` is read + written; ``kernels`` launches.
    """

    op_class: str
    phase: Phase
    element_bytes: int
    width: float
    groups: int
    kernel_size: int
    flops: Linear
    bytes: Linear
    kernels: float
    stride: float = 1


class Memory(NamedTuple):
    """Peak live bytes of the step, and what is live as backward starts; without fp32 parameters and optimizer state.

    Lines through batch sizes at which such models are trained. The peak is convex in the batch: a tiny batch may lie
    above its line, where all gradients at the end of backward weigh more than activations.
    """

    live_bytes: Linear
    saved_bytes: Linear


class Workload(NamedTuple):
    """A model's per-sample operation record with what is known about how it is usually trained."""

    name: str
    task: str
    family: str
    parameters: int
    parameter_tensors: int
    operations: tuple[Operation, ...]
    memory_amp: Memory
    memory_fp32: Memory
    default_dataset: str | None
    recipe_batch_size_per_gpu: int
    max_global_batch_size: int
    recipe_source: str
    source: str
    optimizer: str = "sgd"
    sample_unit: str = "sample"
    image_size: int | None = None
    seq_length: int | None = None
    trainable_parameters: int | None = None
    embedding_parameters: int = 0
    notes: tuple[str, ...] = ()

    @property
    def forward_flops_per_sample(self) -> float:
        return sum(op.flops.per_sample for op in self.operations if op.phase == "forward")

    @property
    def training_flops_per_sample(self) -> float:
        return sum(op.flops.per_sample for op in self.operations)

    def as_fp32(self) -> "Workload":
        """The step without autocast: casts vanish, 2-byte operands become 4-byte ones."""
        rows = tuple(
            op._replace(element_bytes=4, bytes=op.bytes.scaled(2.0)) if op.element_bytes == 2 else op
            for op in self.operations
            if op.op_class != "cast"
        )
        return self._replace(operations=rows)
