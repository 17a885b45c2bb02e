"""A language model's words, read off its record: the loss takes log-probabilities of all of them in fp32."""

from planner.workloads.workload import Workload


def log_probability_bytes(workload: Workload) -> float:
    """Bytes of a sample's log-probabilities: what the one softmax in fp32 writes, which reads as much; else 0."""
    rows = [row for row in workload.operations if row.op_class == "softmax" and row.phase == "forward"]
    if len(rows) != 1 or rows[0].kernels != 1 or rows[0].element_bytes != 4:
        return 0.0
    return rows[0].bytes.per_sample / 2.0
