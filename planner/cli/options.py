"""The flags that describe an experiment and what the answer must meet, shared by every command that plans."""

from __future__ import annotations

import argparse
from datetime import datetime
from typing import Any

from planner.errors import InputError
from planner.experiment.resolve import ExperimentRequest
from planner.plan.deadline import parse_deadline
from planner.plan.question import MOST_HOUR_VALUE_USD, Question, checked
from planner.plan.search import Limits, Sort
from planner.values import amount, count, number, positive, probability, rows, up_to, whole

FORMATS = ("table", "json", "csv", "markdown")

_EPILOG = """\
examples:
  gpuplanner estimate --model resnet50 --epochs 90
  gpuplanner estimate -m bert-base -d squad -e 2 --where cloud --spot --region 'us-*'
  gpuplanner estimate -m vit_base_patch16_224 -e 300 --deadline 'tomorrow 09:00' --budget 60
  gpuplanner estimate -m llama-3-8b --tokens 1B --gpus H100:8 --precision bf16 --zero 3 -o json
"""


def add_plan_arguments(
    parser: argparse.ArgumentParser, formats: tuple[str, ...] = FORMATS, *, model: str | None = None
) -> None:
    """``formats`` is what -o takes, ``model`` the default one; without a default it must be said."""
    parser.epilog = _EPILOG
    _add_experiment(parser.add_argument_group("what is trained"), model)
    add_training_arguments(parser.add_argument_group("how it is trained"))
    _add_machines(parser.add_argument_group("where"))
    _add_limits(parser.add_argument_group("what the answer must meet"))
    _add_output(parser.add_argument_group("output"), formats)


def _add_experiment(group: argparse._ArgumentGroup, model: str | None) -> None:
    group.add_argument(
        "-m", "--model", metavar="NAME", help="a model (gpuplanner models) or its file: docs/own-models.md"
    )
    group.set_defaults(default_model=model)
    group.add_argument("--hub", action="store_true", help="fetch -m OWNER/NAME's config.json from the Hugging Face hub")
    group.add_argument(
        "--config", metavar="FILE", help="a training configuration: TrainingArguments, axolotl, timm ..."
    )
    group.add_argument("--params", type=count, metavar="N", help="parameters of a model without a name (1.3B)")
    group.add_argument("--flops-per-sample", type=count, metavar="N", help="its FLOPs, one forward pass (2.6T)")
    group.add_argument("--activation-bytes", type=count, metavar="N", help="bytes a sample keeps for backward (40M)")
    group.add_argument("-e", "--epochs", type=number, metavar="N", help="passes over the data set")
    group.add_argument("-d", "--dataset", metavar="NAME", help="a data set (gpuplanner datasets)")
    group.add_argument("--samples", type=count, metavar="N", help="samples per epoch, instead of a data set")
    group.add_argument("--tokens", type=count, metavar="N", help="tokens in all, instead of epochs (300B)")
    group.add_argument("--steps", type=count, metavar="N", help="optimizer steps in all, instead of epochs")
    add_size_arguments(group)
    group.add_argument("--resume-epoch", type=number, default=0.0, metavar="N", help="epochs already trained")
    group.add_argument("--tries", type=whole, default=1, metavar="N", help="runs started until one is kept (1)")
    group.add_argument("--pilot-epochs", type=number, metavar="N", help="epochs after which a try is given up")


def add_size_arguments(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--img-size", type=whole, metavar="N", help="pixels a side")
    group.add_argument("--seq-length", "--seq-len", type=whole, metavar="N", help="tokens per sequence")


def add_training_arguments(group: argparse._ArgumentGroup) -> None:
    """How a model is trained, whichever it is and wherever it runs."""
    group.add_argument(
        "-b", "--batch-size", "--per-device-train-batch-size", type=whole, metavar="N", help="samples per GPU and pass"
    )
    group.add_argument("--global-batch-size", type=whole, metavar="N", help="samples per optimizer step, all GPUs")
    group.add_argument(
        "--grad-accum-steps", "--gradient-accumulation-steps", type=whole, metavar="N", help="passes per optimizer step"
    )
    group.add_argument(
        "--precision",
        metavar="NAME",
        help="amp (default), bf16, fp16, bf16-pure, fp16-pure, fp32, tf32, fp32-strict, fp8",
    )
    group.add_argument(
        "--optimizer", "--opt", metavar="NAME", help="sgd, adam, adamw, adamw8bit, adafactor, lamb, rmsprop"
    )
    group.add_argument("--grad-ckpt", action="store_true", help="recompute activations to save memory")
    group.add_argument(
        "--zero", type=whole, default=0, metavar="STAGE", help="shard optimizer state (1), gradients (2), weights (3)"
    )
    group.add_argument(
        "--tensor-parallel",
        "--tensor-model-parallel-size",
        type=whole,
        default=1,
        metavar="N",
        help="split each layer over N GPUs of a machine",
    )
    group.add_argument(
        "--pipeline-parallel",
        "--pipeline-model-parallel-size",
        type=whole,
        default=1,
        metavar="N",
        help="split the layers into N stages",
    )
    group.add_argument(
        "--offload", metavar="WHAT", help="optimizer (state and masters in host memory), or all (weights as well)"
    )
    group.add_argument("--lora-rank", type=whole, metavar="R", help="train low-rank adapters only")
    group.add_argument("--load-in-4bit", action="store_true", help="frozen weights in 4 bits (QLoRA)")
    group.add_argument("--compile", action="store_true", help="torch.compile")
    group.add_argument("--channels-last", action="store_true", help="channels_last (NHWC) convolutions")
    group.add_argument("--tuned", action="store_true", help="a vendor's tuned training script")
    group.add_argument("-j", "--workers", type=whole, metavar="N", help="data loading workers per machine")


def _add_machines(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--gpus", metavar="SPEC", help="H100:8, 80GB+:8 or 24GB..80GB (count per machine)")
    group.add_argument("--num-nodes", type=whole, default=None, metavar="N", help="machines per job")
    group.add_argument(
        "--where", metavar="PLACES", help="laptop, workstation, cluster, cloud or providers, comma-separated"
    )
    group.add_argument("--region", metavar="GLOB", help="cloud regions, comma-separated: 'us-*'")
    purchase = group.add_mutually_exclusive_group()
    purchase.add_argument("--spot", action="store_true", help="spot prices only")
    purchase.add_argument("--on-demand", action="store_true", help="on-demand prices only")
    purchase.add_argument("--reserved", action="store_true", help="one-year reserved prices only")
    purchase.add_argument("--savings-plan", action="store_true", help="savings-plan prices only")
    group.add_argument(
        "--max-price", type=amount(positive), metavar="USD", help="dearest hour, all nodes; this machine stays"
    )
    group.add_argument(
        "--max-price-age", type=whole, default=365, metavar="DAYS", help="older prices are not ranked (365)"
    )
    group.add_argument(
        "--measured",
        action="append",
        default=[],
        metavar="GPU=RATE",
        help="samples/s you measured: 'RTX 3090=812', 'A100:8=9800,fp32,b128' (repeatable)",
    )
    profile = group.add_mutually_exclusive_group()
    profile.add_argument("--profile", metavar="FILE", help="a profile of this machine, instead of the stored one")
    profile.add_argument("--no-profile", action="store_true", help="take this machine by its specifications")
    group.add_argument("--country", metavar="CODE", help="electricity price of a country: DE, US-NY (default EU)")
    group.add_argument(
        "--electricity-price", type=amount(up_to(100)), metavar="USD", help="per kWh, instead of a country's"
    )


def _add_limits(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--deadline", metavar="WHEN", help="12h, 'tomorrow 09:00', '2026-12-24 09:00'")
    group.add_argument(
        "--budget",
        type=amount(positive),
        metavar="USD",
        help="the most the run may cost: 60, $60; 60€ at --currency's rate",
    )
    group.add_argument(
        "--confidence", type=probability, default=0.9, metavar="P", help="probability to meet them (0.9)"
    )
    group.add_argument(
        "--hour-value", type=amount(up_to(MOST_HOUR_VALUE_USD)), metavar="USD", help="value of an hour of waiting (2)"
    )


def _add_output(group: argparse._ArgumentGroup, formats: tuple[str, ...]) -> None:
    group.add_argument("--sort", choices=("value", "cost", "time"), default="value", help="order of the rows (value)")
    group.add_argument(
        "--group", choices=("machine", "offer"), default="machine", help="one row a machine, or every offer"
    )
    group.add_argument("-n", "--max-rows", type=rows, default=20, metavar="N", help="rows shown, 0 for all (20)")
    group.add_argument("-o", "--output", choices=formats, default="table", help="format (table)")
    group.add_argument("--currency", metavar="EUR=0.92", help="tables in another currency, at your rate per USD")
    network = group.add_mutually_exclusive_group()
    network.add_argument("--offline", action="store_true", help="use no network (as without --refresh)")
    network.add_argument("--refresh", action="store_true", help="read the providers' prices first (prices refresh)")


def add_choice_arguments(parser: argparse.ArgumentParser) -> None:
    """Which machine of the plan a command is about; without any, the recommended one."""
    group = parser.add_argument_group("which machine")
    group.add_argument(
        "--on", metavar="WHAT", help="a machine's name, 'RTX 4090:2' or aws:p4d.24xlarge[@REGION][:spot]"
    )
    group.add_argument(
        "--row", type=whole, metavar="N", help="row N of the table (JSON's row); with --group offer, JSON's rank"
    )


def experiment_request(arguments: argparse.Namespace) -> ExperimentRequest:
    """What is to be trained, from the flags and, below them, a training configuration. Raises InputError."""
    request = _said(arguments)
    if arguments.config is not None:
        from planner.experiment.recipes.read import completed, read_training_config

        request = completed(request, read_training_config(arguments.config))
    by_numbers = arguments.params or arguments.flops_per_sample or arguments.activation_bytes
    if arguments.hub:
        from planner.workloads.hub import fetched_config

        return request._replace(model=str(fetched_config(request.model)))
    if request.model or arguments.model is not None or by_numbers:
        return request
    if arguments.default_model is None:
        raise InputError("the following arguments are required: -m/--model (or --config that names one, or --params)")
    return request._replace(model=arguments.default_model)


def _said(arguments: argparse.Namespace) -> ExperimentRequest:
    return ExperimentRequest(
        model=arguments.model or "",
        dataset=arguments.dataset,
        epochs=arguments.epochs,
        samples=arguments.samples,
        tokens=arguments.tokens,
        steps=arguments.steps,
        resume_epoch=arguments.resume_epoch,
        parameters=arguments.params,
        flops_per_sample=arguments.flops_per_sample,
        activation_bytes=arguments.activation_bytes,
        tries=arguments.tries,
        pilot_epochs=arguments.pilot_epochs,
        **said_of_training(arguments),
    )


def said_of_training(arguments: argparse.Namespace) -> dict[str, Any]:
    """What ``add_training_arguments`` and ``add_size_arguments`` read, by field of ``ExperimentRequest``."""
    return {
        "batch_size_per_gpu": arguments.batch_size,
        "global_batch_size": arguments.global_batch_size,
        "grad_accum_steps": arguments.grad_accum_steps,
        "image_size": arguments.img_size,
        "seq_length": arguments.seq_length,
        "precision": arguments.precision,
        "optimizer": arguments.optimizer,
        "grad_checkpointing": arguments.grad_ckpt,
        "zero_stage": arguments.zero,
        "lora_rank": arguments.lora_rank,
        "channels_last": arguments.channels_last,
        "compiled": arguments.compile,
        "tuned": arguments.tuned,
        "workers": arguments.workers,
        "four_bit_weights": arguments.load_in_4bit,
        "tensor_parallel": arguments.tensor_parallel,
        "pipeline_parallel": arguments.pipeline_parallel,
        "offload": arguments.offload,
    }


def question(arguments: argparse.Namespace, now: datetime) -> Question:
    """Where to look and what the answer must meet. Raises InputError."""
    sort: Sort = arguments.sort
    asked = Question(
        where=_words(arguments.where),
        gpus=arguments.gpus,
        num_nodes=arguments.num_nodes,
        regions=_words(arguments.region),
        purchases=_purchases(arguments),
        max_price_usd_per_hour=arguments.max_price,
        max_price_age_days=arguments.max_price_age,
        country=arguments.country,
        electricity_usd_per_kwh=arguments.electricity_price,
        hour_value_usd=arguments.hour_value,
        measured=tuple(arguments.measured),
        limits=Limits(
            deadline=parse_deadline(arguments.deadline, now) if arguments.deadline is not None else None,
            budget_usd=arguments.budget,
            confidence=arguments.confidence,
            sort=sort,
        ),
    )
    return checked(asked)


def _purchases(arguments: argparse.Namespace) -> tuple[str, ...]:
    options = ("spot", "on_demand", "reserved", "savings_plan")
    return tuple(purchase for purchase in options if getattr(arguments, purchase))


def _words(text: str | None) -> tuple[str, ...]:
    if text is None:
        return ()
    words = tuple(word.strip() for word in text.split(",") if word.strip())
    if not words:
        raise InputError(f"expected one or more names separated by commas, not {text!r}")
    return words
