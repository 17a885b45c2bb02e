"""The shipped accelerator table: complete, within reason, and sourced value by value."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

import planner
from planner.hardware.accelerator import GIB, Accelerator
from planner.hardware.catalog import accelerator, accelerators

DATA = Path(planner.__file__).parent / "data"
ALL = list(accelerators().values())

# Published figures typed from the makers' datasheets: fp32 TFLOP/s, memory in GB, bandwidth in GB/s, board power in W.
DATASHEETS = {
    "GTX1060-6GB": (4.4, 6, 192, 120),
    "GTX1070": (6.5, 8, 256, 150),
    "GTX1080": (8.9, 8, 320, 180),
    "GTX1080Ti": (11.3, 11, 484, 250),
    "TITAN-V": (14.9, 12, 653, 250),
    "RTX2060": (6.5, 6, 336, 160),
    "RTX2070": (7.5, 8, 448, 175),
    "RTX2080Ti": (13.4, 11, 616, 250),
    "TITAN-RTX": (16.3, 24, 672, 280),
    "RTX3060": (12.7, 12, 360, 170),
    "RTX3060Ti": (16.2, 8, 448, 200),
    "RTX3070": (20.3, 8, 448, 220),
    "RTX3080": (29.8, 10, 760, 320),
    "RTX3080Ti": (34.1, 12, 912, 350),
    "RTX3090": (35.6, 24, 936, 350),
    "RTX3090Ti": (40.0, 24, 1008, 450),
    "RTX4060": (15.1, 8, 272, 115),
    "RTX4070": (29.1, 12, 504, 200),
    "RTX4070Ti": (40.1, 12, 504, 285),
    "RTX4080": (48.7, 16, 717, 320),
    "RTX4090": (82.6, 24, 1008, 450),
    "RTX5070": (30.9, 12, 672, 250),
    "RTX5070Ti": (43.9, 16, 896, 300),
    "RTX5080": (56.3, 16, 960, 360),
    "RTX5090": (104.8, 32, 1792, 575),
    "QuadroRTX8000": (16.3, 48, 672, 260),
    "RTXA4000": (19.2, 16, 448, 140),
    "RTXA5000": (27.8, 24, 768, 230),
    "RTXA6000": (38.7, 48, 768, 300),
    "RTX6000-Ada": (91.1, 48, 960, 300),
    "P100-PCIe-16GB": (9.3, 16, 732, 250),
    "V100-SXM2-16GB": (15.7, 16, 900, 300),
    "T4": (8.1, 16, 320, 70),
    "A10": (31.2, 24, 600, 150),
    "A30": (10.3, 24, 933, 165),
    "A40": (37.4, 48, 696, 300),
    "A100-40GB-SXM": (19.5, 40, 1555, 400),
    "A100-80GB-SXM": (19.5, 80, 2039, 400),
    "L4": (30.3, 24, 300, 72),
    "L40S": (91.6, 48, 864, 350),
    "H100-PCIe": (51.2, 80, 2000, 350),
    "H100-SXM": (66.9, 80, 3350, 700),
    "H200-SXM": (66.9, 141, 4800, 700),
    "RX7900XTX": (61.4, 24, 960, 355),
    "MI210": (22.6, 64, 1638, 300),
    "MI300X": (163.4, 192, 5300, 750),
}
# Dense bf16 TFLOP/s with fp32 accumulation as the makers state them.
DATASHEET_BF16 = {
    "RTX3090": 71,
    "RTX4090": 165.2,
    "RTX5090": 209.5,
    "RTXA6000": 154.8,
    "A10": 125,
    "A10G": 70,
    "A100-40GB-SXM": 312,
    "A100-80GB-PCIe": 312,
    "L4": 121,
    "L40S": 362,
    "L40": 181,
    "H100-SXM": 989.4,
    "H100-PCIe": 756,
    "B200": 2250,
    "MI300X": 1307,
    "TPUv4": 275,
    "TPUv5e": 197,
    "TPUv5p": 459,
    "TPUv6e": 918,
    "Gaudi2": 432,
    "Trainium": 190,
}


def by_key(items: list[Accelerator]) -> list[object]:
    return [pytest.param(item, id=item.key) for item in items]


def test_the_table_is_wide() -> None:
    keys = {device.key for device in ALL}
    assert len(keys) == len(ALL) >= 230
    assert {device.stack for device in ALL} >= {"cuda", "rocm", "xla", "neuron", "hpu", "xpu", "mps", "none"}
    assert {"GT740M", "GTX960M", "RTX5090-Laptop", "K80", "GB300", "TPU7x", "M4-Max-40c"} <= keys


@pytest.mark.parametrize(("key", "published"), DATASHEETS.items())
def test_specifications_equal_the_datasheet(key: str, published: tuple[float, float, float, float]) -> None:
    device = accelerator(key)
    fp32, memory, bandwidth, power = published
    assert device.fp32_flops_per_s == pytest.approx(fp32 * 1e12, rel=0.03)
    assert device.memory_bytes == memory * GIB
    assert device.bandwidth_bytes_per_s == pytest.approx(bandwidth * 1e9, rel=0.01)
    assert device.power_w == power


@pytest.mark.parametrize(("key", "tflops"), DATASHEET_BF16.items())
def test_matrix_rates_equal_the_datasheet(key: str, tflops: float) -> None:
    assert accelerator(key).bf16_flops_per_s == pytest.approx(tflops * 1e12, rel=0.01)


@pytest.mark.parametrize("device", by_key(ALL))
def test_values_are_within_reason(device: Accelerator) -> None:
    ranges = (
        (device.fp32_flops_per_s, 0.5e12, 200e12),
        (device.tf32_flops_per_s, 5e12, 2000e12),
        (device.fp16_flops_per_s, 10e12, 3000e12),
        (device.bf16_flops_per_s, 10e12, 3000e12),
        (device.fp8_flops_per_s, 20e12, 6000e12),
        (device.measured_bf16_flops_per_s, 10e12, 3000e12),
        (device.memory_bytes, 2 * GIB, 512 * GIB),
        (device.bandwidth_bytes_per_s, 20e9, 10e12),
        (device.power_w, 40, 1500),
        (device.boost_hz, 0.7e9, 3e9),
        (device.sm_count, 1, 400),
        (device.nvlink_bytes_per_s, 20e9, 1.3e12),
        (device.launch_price_usd, 100, 50_000),
        (device.release_year, 2013, 2026),
    )
    for value, low, high in ranges:
        assert value is None or low <= value <= high


@pytest.mark.parametrize("device", by_key(ALL))
def test_values_agree_with_each_other(device: Accelerator) -> None:
    fp32, fp16, bf16 = device.fp32_flops_per_s, device.fp16_flops_per_s, device.bf16_flops_per_s
    if fp32 is not None and fp16 is not None:
        assert fp16 >= fp32
    if bf16 is not None and device.fp8_flops_per_s is not None:
        assert device.fp8_flops_per_s >= bf16 * 0.99
    if device.tf32_flops_per_s is not None and bf16 is not None:
        assert device.tf32_flops_per_s <= bf16
    if device.usable_memory_bytes is not None:
        assert device.memory_bytes is not None
        assert 0.6 * device.memory_bytes <= device.usable_memory_bytes < device.memory_bytes
    if device.measured_bf16_flops_per_s is not None:
        peak = bf16 or fp16
        assert peak is not None
        assert 0.4 <= device.measured_bf16_flops_per_s / peak <= 1.3
    if device.boost_min_hz is not None:
        assert device.boost_hz is not None
        assert device.power_w is not None
        assert device.boost_min_hz < device.boost_hz
        assert device.power_min_w is None or device.power_min_w < device.power_w


GEFORCE = [d for d in ALL if "GeForce RTX" in d.name and d.fp16_flops_per_s is not None]
PROFESSIONAL = [
    d
    for d in ALL
    if d.architecture in ("Turing", "Ampere", "Ada Lovelace", "Blackwell")
    and d.form_factor == "workstation"
    and d.fp16_flops_per_s is not None
]


@pytest.mark.parametrize("device", by_key(GEFORCE))
def test_geforce_cards_run_at_half_rate_with_fp32_accumulation(device: Accelerator) -> None:
    per_fp32 = 4 if device.architecture == "Turing" else 2
    assert device.fp16_flops_per_s is not None
    assert device.fp32_flops_per_s is not None
    assert device.fp16_flops_per_s / device.fp32_flops_per_s == pytest.approx(per_fp32, rel=0.02)


@pytest.mark.parametrize("device", by_key(PROFESSIONAL))
def test_professional_cards_run_at_full_rate(device: Accelerator) -> None:
    per_fp32 = 8 if device.architecture == "Turing" else 4
    assert device.fp16_flops_per_s is not None
    assert device.fp32_flops_per_s is not None
    assert device.fp16_flops_per_s / device.fp32_flops_per_s == pytest.approx(per_fp32, rel=0.02)


def test_old_cuda_devices_do_not_train_and_say_why() -> None:
    assert not accelerator("K80").trains
    assert "compute capability 3.7" in accelerator("K80").note
    assert accelerator("V100-SXM2-16GB").trains
    assert "CUDA 12.6" in accelerator("V100-SXM2-16GB").note
    assert accelerator("T4").note == ""
    for device in ALL:
        capability = device.compute_capability
        if device.stack == "cuda":
            assert capability is not None
            assert device.trains == (capability >= (5, 0))
        assert device.trains or device.note


def test_devices_that_need_a_port_say_so() -> None:
    for key in ("TPUv5e", "Trainium", "Gaudi2"):
        assert accelerator(key).trains
        assert "ported" in accelerator(key).note
    assert "inference" in accelerator("Inferentia2").note


def test_memory_of_cards_with_error_correction_is_smaller() -> None:
    for key, gib in (("A10G", 22.2), ("L4", 22.2), ("T4", 14.7), ("L40S", 44.7), ("A40", 44.4), ("RTX3090", 23.69)):
        usable = accelerator(key).usable_memory_bytes
        assert usable is not None
        assert usable / GIB == pytest.approx(gib, abs=0.1)


def rows(name: str) -> list[dict[str, str]]:
    with (DATA / name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_every_value_has_a_source() -> None:
    sourced = {
        (row["key"], column): row["source"]
        for row in rows("accelerator_sources.csv")
        for column in row["columns"].split()
    }
    described = {"key", "name", "kind", "vendor", "architecture", "form_factor", "stack", "trains", "note"}
    described |= {"compute_capability", "release_year"}
    valued = {
        (row["key"], column)
        for row in rows("accelerators.csv")
        for column, value in row.items()
        if value and column not in described
    }
    assert valued == set(sourced)
    assert all(len(source) > 2 for source in sourced.values())


def test_every_tag_of_a_source_is_explained() -> None:
    known = {row["tag"] for row in rows("source_tags.csv")}
    plain = (
        "half",
        "twice",
        "as ",
        "torch",
        "datasheet",
        "nvidia-smi",
        "A10",
        "A100",
        "L40S",
        "the T4",
        "MLPerf",
        "gist",
    )
    for row in rows("accelerator_sources.csv"):
        first = row["source"].split("(")[0].split(";")[0].split("/")[0].strip().split(" ")[0].rstrip(":")
        assert first in known or row["source"].startswith(plain), row
