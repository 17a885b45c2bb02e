"""Operation classes as people know them: a convolution is its forward pass and both of its gradients."""

from __future__ import annotations

from collections.abc import Iterable

from planner.throughput.kernels import ClassTime

_KINDS = {
    "conv": "convolution",
    "conv1": "1×1 convolution",
    "gconv": "grouped convolution",
    "dw": "depthwise convolution",
    "mm": "linear",
    "bmm": "batched matmul",
    "sdpa": "attention",
    "rnn": "recurrent",
    "bn": "batch norm",
    "ln": "layer norm",
    "gn": "group norm",
    "ew": "elementwise",
    "copy": "copies",
    "cast": "casts",
    "softmax": "softmax",
    "red": "reductions",
    "pool": "pooling",
    "gather": "embedding",
}
_GRADIENTS = ("_dg", "_wg", "_bw")


def operation_kind(op_class: str) -> str:
    """'convolution' for conv, conv_dg and conv_wg; a class without a common name keeps its own."""
    base = op_class
    for suffix in _GRADIENTS:
        base = base.removesuffix(suffix)
    return _KINDS.get(base, base)


def by_kind(times: Iterable[ClassTime]) -> list[ClassTime]:
    """One row a kind, the longest first: amounts added up, bound by what binds most of its seconds."""
    members: dict[str, list[ClassTime]] = {}
    for row in times:
        members.setdefault(operation_kind(row.op_class), []).append(row)
    merged = [
        ClassTime(
            kind,
            sum(row.flops for row in rows),
            sum(row.bytes for row in rows),
            sum(row.seconds for row in rows),
            _bound_by(rows),
        )
        for kind, rows in members.items()
    ]
    return sorted(merged, key=lambda row: -row.seconds)


def _bound_by(rows: Iterable[ClassTime]) -> str:
    seconds: dict[str, float] = {}
    for row in rows:
        seconds[row.bound_by] = seconds.get(row.bound_by, 0.0) + row.seconds
    return max(seconds, key=lambda bound: seconds[bound])
