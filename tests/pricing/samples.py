"""One offer and one machine, to be changed by the test that uses them."""

from __future__ import annotations

from pricing.offer import InstanceType, Offer

OFFER = Offer(
    provider="aws",
    instance_type="p4d.24xlarge",
    region="us-east-1",
    zone="use1-az6",
    purchase="on_demand",
    price="21.957642",
    usd_per_hour=21.957642,
    flags=(),
    price_as_of="2026-07-20",
    price_source="AWS price list",
)

MACHINE = InstanceType(
    provider="aws",
    instance_type="p4d.24xlarge",
    accelerator="A100-40GB-SXM",
    num_gpus=8.0,
    memory_gib_per_gpu=40.0,
    link="nvswitch",
    network_gbit_s=400.0,
    network="EFA",
    vcpus=96.0,
    cpu="CascadeLake",
    memory_gib=1152.0,
    local_disk_gb=8000.0,
    unranked="",
    source="test",
    rdma=True,
)


def priced(offer: Offer, price: str) -> Offer:
    return offer._replace(price=price, usd_per_hour=float(price))
