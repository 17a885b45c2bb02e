"""Small machines and workloads with round numbers, for tests that need no shipped table."""

from __future__ import annotations

from typing import Any

from planner.experiment.experiment import Experiment
from planner.hardware.accelerator import GIB, Accelerator
from planner.hardware.interconnect import Link, Network
from planner.hardware.machine import Machine
from planner.workloads.datasets import Dataset
from planner.workloads.workload import Linear, Memory, Operation, Phase, Workload

A100 = Accelerator(
    key="A100-40GB-SXM",
    name="NVIDIA A100 40 GB SXM",
    kind="gpu",
    vendor="NVIDIA",
    architecture="Ampere",
    form_factor="SXM",
    stack="cuda",
    trains=True,
    compute_capability=(8, 0),
    sm_count=108,
    boost_hz=1.41e9,
    fp32_flops_per_s=19.5e12,
    tf32_flops_per_s=156e12,
    fp16_flops_per_s=312e12,
    bf16_flops_per_s=312e12,
    memory_bytes=40e9,
    usable_memory_bytes=39.4 * GIB,
    bandwidth_bytes_per_s=1555e9,
    power_w=400.0,
)
RTX3090 = A100._replace(
    key="RTX3090",
    name="NVIDIA GeForce RTX 3090",
    compute_capability=(8, 6),
    sm_count=82,
    boost_hz=1.695e9,
    fp32_flops_per_s=35.58e12,
    tf32_flops_per_s=35.58e12,
    fp16_flops_per_s=71.16e12,
    bf16_flops_per_s=71.16e12,
    memory_bytes=24 * GIB,
    usable_memory_bytes=23.69 * GIB,
    bandwidth_bytes_per_s=936e9,
    power_w=350.0,
)
V100 = A100._replace(
    key="V100-SXM2-16GB",
    name="NVIDIA V100 SXM2",
    architecture="Volta",
    compute_capability=(7, 0),
    sm_count=80,
    boost_hz=1.53e9,
    fp32_flops_per_s=15.7e12,
    tf32_flops_per_s=None,
    fp16_flops_per_s=125e12,
    bf16_flops_per_s=None,
    memory_bytes=16 * GIB,
    usable_memory_bytes=15.8 * GIB,
    bandwidth_bytes_per_s=900e9,
    power_w=300.0,
)
GTX1080TI = V100._replace(
    key="GTX1080Ti",
    name="NVIDIA GeForce GTX 1080 Ti",
    architecture="Pascal",
    compute_capability=(6, 1),
    sm_count=28,
    boost_hz=1.582e9,
    fp32_flops_per_s=11.34e12,
    fp16_flops_per_s=None,
    bandwidth_bytes_per_s=484e9,
    power_w=250.0,
)
CPU = Accelerator(
    key="IceLake-SP",
    name="Xeon, 32 vCPUs",
    kind="cpu",
    vendor="Intel",
    architecture="Ice Lake-SP",
    form_factor="socket",
    stack="cpu",
    trains=True,
    fp32_flops_per_s=3.5e12,
    bandwidth_bytes_per_s=200e9,
)
NVSWITCH = Link("nvswitch", "NVLink 3 with NVSwitch", 300e9, True)
PCIE4 = Link("pcie4", "PCIe 4.0 x16", 31.5e9, False)
ETHERNET_100 = Network("100 Gb/s Ethernet", 12.5e9, False)
INFINIBAND = Network("8 x HDR InfiniBand", 200e9, True)

IMAGES = Dataset("images", "images", "image classification", 1_281_167, 50_000, 1.5e11, None, "jpeg", 90, "made up")
TENSORS = IMAGES._replace(name="tensors", decode="none")


def machine(accelerator: Accelerator = A100, num_gpus: float = 1, **changes: Any) -> Machine:
    """One machine with 64 vCPUs around ``num_gpus`` accelerators."""
    defaults = Machine("test", accelerator, num_gpus, vcpus=64.0, ram_bytes=256.0 * GIB)
    return defaults._replace(**changes)


def convolutional(recipe: int = 256, useful: int = 8192) -> Workload:
    """A convolutional network of ResNet-50's size: 4 GMAC forward, 25 M parameters, activations of 80 MB a sample."""

    def operation(op_class: str, phase: Phase, size: int, flops: float, moved: float, kernels: float) -> Operation:
        return Operation(op_class, phase, size, 0.0, 1, 0, Linear(0, flops), Linear(1e6, moved), kernels)

    operations = (
        operation("conv", "forward", 2, 4e9, 20e6, 20),
        operation("conv1", "forward", 2, 4e9, 60e6, 33),
        operation("bn", "forward", 2, 0.1e9, 65e6, 53),
        operation("ew", "forward", 2, 0.02e9, 80e6, 66),
        operation("mm", "forward", 2, 4e6, 1e4, 1),
        operation("cast", "forward", 4, 0.0, 1e6, 161),
        operation("conv_dg", "backward", 2, 4e9, 20e6, 20),
        operation("conv1_dg", "backward", 2, 4e9, 60e6, 33),
        operation("conv_wg", "backward", 2, 4e9, 20e6, 20),
        operation("conv1_wg", "backward", 2, 4e9, 60e6, 33),
        operation("bn", "backward", 2, 0.1e9, 110e6, 53),
        operation("ew", "backward", 2, 0.02e9, 90e6, 66),
        operation("mm", "backward", 2, 8e6, 2e4, 2),
    )
    return Workload(
        name="convolutional",
        task="image classification",
        family="resnet",
        parameters=25_000_000,
        parameter_tensors=161,
        operations=operations,
        memory_amp=Memory(Linear(160e6, 82e6), Linear(0, 75e6)),
        memory_fp32=Memory(Linear(110e6, 160e6), Linear(0, 150e6)),
        default_dataset="images",
        recipe_batch_size_per_gpu=recipe,
        max_global_batch_size=useful,
        recipe_source="made up",
        source="made up",
    )


def experiment(workload: Workload | None = None, **changes: Any) -> Experiment:
    """An ordinary experiment: AMP, SGD, no decoding."""
    defaults = Experiment(
        workload=workload or convolutional(),
        dataset=TENSORS,
        samples_per_epoch=1_281_167,
        epochs=90,
        total_samples=90 * 1_281_167,
        precision="amp",
        optimizer="sgd",
    )
    return defaults._replace(**changes)
