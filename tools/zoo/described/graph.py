"""Graph networks: GCN over a whole graph and GraphSAGE over sampled neighbourhoods."""

from __future__ import annotations

import itertools
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from planner.workloads.torch_trace import Inputs
from tools.zoo.described.common import described, labels
from tools.zoo.spec import Recipe, Spec

EDGES_PER_NODE = 14  # ogbn-arxiv, both directions
FANOUT = (15, 10, 5)
GCN_RECIPE = Recipe("ogbn-arxiv", 169_343, 169_343, "adam", "Hu et al. 2020, arXiv:2005.00687 (the whole graph a step)")
SAGE_RECIPE = Recipe(
    "ogbn-products", 1024, 8192, "adam", "Hamilton et al. 2017, arXiv:1706.02216; the OGB example (1,024)"
)


class GCN(nn.Module):
    """Kipf & Welling 2017: three layers of 256, each a product, a gather along the edges and a sum into the nodes."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(i, o) for i, o in ((128, 256), (256, 256), (256, 40)))
        self.norms = nn.ModuleList(nn.BatchNorm1d(256) for _ in range(2))

    def forward(self, nodes: torch.Tensor, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        for index, layer in enumerate(self.layers):
            nodes = layer(nodes)
            nodes = torch.zeros_like(nodes).index_add(0, target, nodes.index_select(0, source))
            if index < 2:
                nodes = F.dropout(F.relu(self.norms[index](nodes)), 0.5, self.training)
        return nodes


def _whole_graph(nodes: int) -> Inputs:
    edges = labels(nodes * EDGES_PER_NODE)
    return torch.empty(nodes, 128, device="meta"), edges, edges, labels(nodes)


class GraphSAGE(nn.Module):
    """Hamilton et al. 2017: three layers of 256 over 15, 10 and 5 sampled neighbours a node, mean aggregation."""

    def __init__(self) -> None:
        super().__init__()
        widths = (100, 256, 256, 47)
        pairs = list(itertools.pairwise(widths))
        self.own = nn.ModuleList(nn.Linear(i, o) for i, o in pairs)
        self.neighbours = nn.ModuleList(nn.Linear(i, o, bias=False) for i, o in pairs)

    def forward(self, *rings: torch.Tensor) -> torch.Tensor:
        """``rings[k]`` are features of the nodes k hops away, (B * product of the fanouts, width)."""
        layers = list(rings)
        for index, (own, neighbours) in enumerate(zip(self.own, self.neighbours, strict=True)):
            merged = []
            for near, far in itertools.pairwise(layers):
                mean = far.view(near.shape[0], -1, far.shape[1]).mean(1)
                output = own(near) + neighbours(mean)
                merged.append(F.dropout(F.relu(output), 0.5, self.training) if index < 2 else output)
            layers = merged
        return layers[0]


def _neighbourhoods(batch: int) -> Inputs:
    sizes = [batch]
    for neighbours in reversed(FANOUT):
        sizes.append(sizes[-1] * neighbours)
    return *(torch.empty(size, 100, device="meta") for size in sizes), labels(batch)


def _node_loss(model: Any, inputs: Inputs) -> torch.Tensor:
    *graph, target = inputs
    return F.cross_entropy(model(*graph), target)


def specs() -> list[Spec]:
    task = "node classification"
    return [
        described(
            "gcn",
            task,
            "gcn",
            GCN,
            _whole_graph,
            _node_loss,
            GCN_RECIPE,
            "Kipf & Welling 2017, arXiv:1609.02907, on ogbn-arxiv",
            batches=(8_192, 16_384),
            sample_unit="node",
            notes=("a batch is a graph: its nodes, 14 edges each",),
        ),
        described(
            "graphsage",
            task,
            "graphsage",
            GraphSAGE,
            _neighbourhoods,
            _node_loss,
            SAGE_RECIPE,
            "Hamilton et al. 2017, arXiv:1706.02216, on ogbn-products",
            batches=(512, 1024),
            sample_unit="node",
            notes=("features of 15, 10 and 5 sampled neighbours a node; sampling itself runs on the CPU",),
        ),
    ]
