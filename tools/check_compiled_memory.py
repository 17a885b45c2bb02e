"""What a language model keeps for backward when it is compiled, by the partitioner of torch.compile itself.

    PYTHON tools/check_compiled_memory.py

PYTHON has torch and transformers. GPT-2 with two and three sequences is compiled as far as its forward and backward are
parted (min-cut rematerialisation after Inductor's decompositions); what the forward hands over is counted, without
running either. Run on a CPU under autocast in bf16, attention without dropout, which the CPU's fused kernel lacks. The
tensors as wide as the vocabulary are listed: planner/throughput/memory.py takes for granted that they are the logits in
2 bytes alone. Exit 1 where they are not.
"""

from __future__ import annotations

import sys
from typing import Any

import torch
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch._inductor.decomposition import select_decomp_table
from torch.nn import functional
from transformers import GPT2Config, GPT2LMHeadModel

VOCABULARY, LENGTH = 50257, 1024


class WithLoss(torch.nn.Module):
    """GPT-2 124M and its loss, which transformers takes in fp32."""

    def __init__(self) -> None:
        super().__init__()
        config = GPT2Config(attn_pdrop=0.0)
        config._attn_implementation = "sdpa"
        self.model = GPT2LMHeadModel(config)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        logits = self.model(input_ids=ids, use_cache=False).logits
        return functional.cross_entropy(logits[:, :-1].flatten(0, 1).float(), ids[:, 1:].flatten())


def kept(sequences: int) -> list[torch.Tensor]:
    """What the compiled forward of so many sequences makes and backward needs: fake tensors, each storage once."""
    found: list[torch.Tensor] = []

    def part(joint: Any, inputs: Any, **more: Any) -> Any:
        forward, backward = min_cut_rematerialization_partition(joint, inputs, **more)
        nodes = next(node for node in forward.graph.nodes if node.op == "output").args[0]
        made = [node.meta.get("val") for node in dict.fromkeys(nodes) if node is not None and node.op != "placeholder"]
        found.extend(value for value in made if isinstance(value, torch.Tensor))
        return forward, backward

    torch._dynamo.reset()
    unchanged = lambda graph, _: graph  # noqa: E731
    backend = aot_autograd(
        fw_compiler=unchanged, bw_compiler=unchanged, partition_fn=part, decompositions=select_decomp_table()
    )
    step = torch.compile(WithLoss().train(), backend=backend)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        step(torch.randint(0, VOCABULARY, (sequences, LENGTH)))
    return found


def _bytes(tensors: list[torch.Tensor]) -> int:
    return sum(one.untyped_storage().nbytes() for one in tensors)


def main() -> int:
    two, three = kept(2), kept(3)
    print(f"a sequence keeps {(_bytes(three) - _bytes(two)) / 1e6:.0f} MB for backward")
    wide = [one for one in two if VOCABULARY in one.shape and one.numel() >= LENGTH * VOCABULARY]
    for one in wide:
        print(f"as wide as the vocabulary: {tuple(one.shape)} in {one.dtype}, {_bytes([one]) / 1e6:.0f} MB")
    return int([one.dtype for one in wide] != [torch.bfloat16])


if __name__ == "__main__":
    sys.exit(main())
