"""One training step of an experiment on a machine: the parts put together, what binds, and how sure we are.

``StepModel`` prepares the experiment once and then estimates many machines, each in about a tenth of a millisecond.
"""

import math
from functools import cached_property
from typing import NamedTuple

from planner.experiment.experiment import Experiment
from planner.hardware.accelerator import Accelerator
from planner.hardware.machine import Machine
from planner.throughput.batch import BatchPlan, check_batch_request, fit_by_accumulation, plan_batch
from planner.throughput.collectives import NO_COMMUNICATION, Communication, communicate, exchange, model_parallel
from planner.throughput.device import DeviceRates, device_rates, share_of_device, with_slower_products
from planner.throughput.estimate import Scope, StepEstimate, StepParts
from planner.throughput.evidence import Correction, Knowledge, Subject, run_of, shipped_knowledge, subject_of
from planner.throughput.input_pipeline import InputRate, input_rate
from planner.throughput.kernels import ClassTime, StepWork, multiplies_less, prepare, time_by_class, training_flops
from planner.throughput.lineage import MODEL_PARALLEL, ONE_PROCESS, level_constants, lineage_of, variant_of
from planner.throughput.memory import MemoryModel, available_bytes, memory_model
from planner.throughput.model_parallel import (
    Split,
    check_split,
    idle_share,
    is_split,
    split_of,
    split_problem,
    split_work,
)
from planner.throughput.offload import offload_problem, offload_time
from planner.throughput.optimizer import trainable_parameters, update_work
from planner.throughput.precision import DevicePrecision, resolve_precision
from planner.throughput.step_parts import (
    DeviceTime,
    bound_by,
    cannot_estimate,
    flags_of,
    input_notes,
    not_above_peak,
    parts_of,
    refused_for_memory,
)
from planner.units import Interval
from planner.workloads.workload import Workload

# A measured batch up to this much larger than what should fit did run: the memory model is not that exact.
_RAN_ALL_THE_SAME = 2.0


class Fitting(NamedTuple):
    """A step that fits on a machine, before it is timed. Bytes are of one device, ``share`` is what one has of it."""

    machine: Machine
    share: float
    precision: DevicePrecision
    rates: DeviceRates
    split: Split
    plan: BatchPlan
    required_bytes: float
    available_bytes: float | None


class StepModel:
    """An experiment prepared for estimating many machines. Raises InputError on a contradictory batch request.

    ``scope`` is what of the step is timed; ``framework`` the software lineage whose offsets apply; ``update_loop`` an
    optimizer that loops over tensors, as before PyTorch 2.0; ``fp32_product_share`` what fp32 products reached of
    today's rate in software of another time. Without ``enforce_memory`` a batch that does not fit is accumulated and
    flagged instead of refused (measured rows did run).
    """

    def __init__(
        self,
        experiment: Experiment,
        knowledge: Knowledge | None = None,
        *,
        scope: Scope = "step",
        framework: str = "pytorch",
        update_loop: bool = False,
        fp32_product_share: float = 1.0,
        enforce_memory: bool = True,
    ) -> None:
        check_batch_request(experiment)
        check_split(experiment)
        self.experiment = experiment
        self.knowledge = knowledge or shipped_knowledge()
        self.scope = scope
        self.calibration = self.knowledge.calibration
        self.variant = variant_of(experiment, self.calibration, framework)
        self.lineage = lineage_of(experiment, framework)
        self._framework = framework
        self._update_loop = update_loop
        self._fp32_product_share = fp32_product_share
        self._enforce_memory = enforce_memory
        level = level_constants(experiment, self.calibration, framework)
        self._host_factor = level["host_factor"] * self.calibration.host_factors.get(framework, 1.0)
        self._training_flops = training_flops(experiment.workload, self.variant)
        self._recomputed_share = share_with_gradients(experiment.workload)
        self._work: dict[tuple[bool, bool, bool, int], StepWork] = {}
        self._memory: dict[tuple[bool, bool, int, bool], MemoryModel] = {}
        # Hundreds of machines share a few dozen rates, counts, batches and links: each is timed once.
        self._devices: dict[tuple[Accelerator, float], tuple[DevicePrecision | None, DeviceRates | None]] = {}
        self._device_times: dict[tuple[DevicePrecision, DeviceRates, BatchPlan, Split], DeviceTime] = {}
        self._links: dict[tuple[object, ...], Communication] = {}
        self._plans: dict[tuple[bool, bool, int, float | None], BatchPlan] = {}
        self._corrections: dict[tuple[str, str, tuple[str, ...], str], Correction] = {}
        self._less: dict[bool, bool] = {}
        self._known_architectures: dict[tuple[str, str], bool] = {}

    def on(self, machine: Machine) -> "StepModel":
        """The model that knows most of this machine: the one with measured rates where it was profiled here."""
        here = self.knowledge.here
        return self._profiled if here is not None and here.is_on(machine) else self

    @cached_property
    def _profiled(self) -> "StepModel":
        return StepModel(
            self.experiment,
            self.knowledge.of_here,
            scope=self.scope,
            framework=self._framework,
            update_loop=self._update_loop,
            fp32_product_share=self._fp32_product_share,
            enforce_memory=self._enforce_memory,
        )

    def estimate(self, machine: Machine) -> StepEstimate:
        """The step on ``machine``: times with P10/P50/P90 when it fits, the reason when it does not."""
        model = self.on(machine)
        return self._estimate(machine) if model is self else model.estimate(machine)

    def _estimate(self, machine: Machine) -> StepEstimate:
        share = share_of_device(machine)
        precision, rates = self._device(machine.accelerator, share)
        if precision is None:
            return cannot_estimate("unknown", f"the arithmetic rate of {machine.accelerator.name} is unknown")
        if rates is None:
            return cannot_estimate(precision.name, f"the memory bandwidth of {machine.accelerator.name} is unknown")
        problem = split_problem(self.experiment, machine)
        problem = problem or offload_problem(self.experiment, precision, machine, self.calibration)
        if problem:
            return cannot_estimate(precision.name, problem)
        available = available_bytes(machine, self.calibration)
        split = split_of(self.experiment, machine)
        plan = self._plan_on(split.replicas, precision, available)
        memory = self.memory(precision, split.replicas, accumulates=plan.grad_accum_steps > 1)
        required = memory.required_bytes(plan.batch_size_per_gpu)
        if plan.problem:
            return refused_for_memory(precision, plan, required, available)
        return self._timed(Fitting(machine, share, precision, rates, split, plan, required, available))

    def _device(self, accelerator: Accelerator, share: float) -> tuple[DevicePrecision | None, DeviceRates | None]:
        """The precision as this device resolves it, and the device's rates in it; None where unknown."""
        key = (accelerator, share)
        if key not in self._devices:
            precision, rates = resolve_precision(self.experiment.precision, accelerator), None
            if precision is not None:
                known = self.knowledge
                rates = device_rates(
                    accelerator, precision, self.calibration, share, known.host, known.factors(accelerator)
                )
                if rates is not None and self._fp32_product_share != 1.0:
                    rates = with_slower_products(rates, self._fp32_product_share)
            self._devices[key] = (precision, rates)
        return self._devices[key]

    def plan(self, machine: Machine, precision: DevicePrecision) -> BatchPlan:
        """The batch per device, accumulation and global batch on ``machine``."""
        replicas = split_of(self.experiment, machine).replicas
        return self._plan_on(replicas, precision, available_bytes(machine, self.calibration))

    def _plan_on(self, replicas: int, precision: DevicePrecision, available: float | None) -> BatchPlan:
        """The batch on ``replicas`` copies of the model, each on GPUs of ``available`` bytes, where that is known."""
        key = (precision.autocast, precision.pure, replicas, available)
        if key not in self._plans:
            self._plans[key] = self._plan(precision, replicas, math.inf if available is None else available)
        return self._plans[key]

    def _plan(self, precision: DevicePrecision, devices: int, room: float) -> BatchPlan:
        """The batch on ``devices`` copies of the model, each on GPUs of ``room`` bytes."""
        largest = self.memory(precision, devices).largest_batch(room)
        plan = plan_batch(self.experiment, devices, largest)
        if plan.grad_accum_steps > 1:  # gradients then stay between micro steps: less is left for activations
            largest = self.memory(precision, devices, accumulates=True).largest_batch(room)
            plan = plan_batch(self.experiment, devices, largest)
        if not plan.problem or self._enforce_memory:
            return plan
        if plan.batch_size_per_gpu <= _RAN_ALL_THE_SAME * largest:
            return plan._replace(problem="", flags=(*plan.flags, "memory_exceeded"))
        batch, accumulation = fit_by_accumulation(plan.batch_size_per_gpu, max(largest, 1))
        steps = accumulation * plan.grad_accum_steps
        return BatchPlan(batch, steps, batch * steps * devices, (*plan.flags, "memory_exceeded"))

    def memory(self, precision: DevicePrecision, devices: int, *, accumulates: bool = False) -> MemoryModel:
        """The memory model of one GPU of a model in ``devices`` data-parallel copies."""
        key = (precision.autocast, precision.pure, devices, accumulates)
        if key not in self._memory:
            self._memory[key] = memory_model(
                self.experiment, precision, devices, self.calibration, accumulates=accumulates
            )
        return self._memory[key]

    def work(self, precision: DevicePrecision, batch_size: int) -> StepWork:
        """The prepared micro step of ``batch_size`` samples."""
        key = (precision.autocast, precision.pure, precision.winograd, batch_size)
        if key not in self._work:
            self._work[key] = prepare(self.experiment.workload, precision, batch_size, self.variant, self.calibration)
        return self._work[key]

    def device_time(self, precision: DevicePrecision, rates: DeviceRates, plan: BatchPlan, split: Split) -> DeviceTime:
        """Seconds of one optimizer step on one device; device and host overlap, so a soft maximum of both shows.

        An update on the host is not in it: it depends on more than the device.
        """
        work = split_work(self.work(precision, plan.batch_size_per_gpu), split)
        forward, forward_arithmetic = work.forward.seconds(rates)
        backward = backward_arithmetic = optimizer = 0.0
        launches = work.forward.kernels * plan.grad_accum_steps
        if self.scope != "forward":
            recomputed = self._recomputed_share if self.experiment.grad_checkpointing else 0.0
            backward, backward_arithmetic = work.backward.seconds(rates)
            backward += forward * recomputed
            backward_arithmetic += forward_arithmetic * recomputed
            launches += (work.backward.kernels + work.forward.kernels * recomputed) * plan.grad_accum_steps
        if self.scope == "step" and self.experiment.offload is None:
            owners = split.shards * (split.replicas if self.experiment.sharding_stage >= 1 else 1)
            update = update_work(self.experiment, precision, loop=self._update_loop)
            optimizer = update.seconds(rates) / owners
            launches += update.kernels / split.pipeline
        if rates.held_seconds_per_byte:
            workload = self.experiment.workload
            memory = workload.memory_amp if precision.autocast or precision.pure else workload.memory_fp32
            forward += memory.saved_bytes.at(plan.batch_size_per_gpu) * rates.held_seconds_per_byte
            backward += 4.0 * trainable_parameters(self.experiment) * rates.held_seconds_per_byte
        device = plan.grad_accum_steps * (forward + backward) + optimizer
        host = launches * rates.host_launch_s * self._host_factor * self._devices_of_one_process(split.replicas)
        return DeviceTime(
            forward_s=plan.grad_accum_steps * forward,
            backward_s=plan.grad_accum_steps * backward,
            optimizer_s=optimizer,
            host_s=soft_maximum(device, host, self.calibration.device.overlap_norm) - device + rates.step_s,
            arithmetic_s=plan.grad_accum_steps * (forward_arithmetic + backward_arithmetic),
        )

    def _devices_of_one_process(self, devices: int) -> float:
        """How much slower one process launches that feeds all devices through threads (DataParallel)."""
        if self._framework not in ONE_PROCESS:
            return 1.0
        return 1.0 + float(self.calibration.collectives["one_process_share"]) * (devices - 1)

    def operation_times(self, machine: Machine) -> list[ClassTime]:
        """Seconds on the device by operation class in one micro step, slowest first, before evidence corrects them."""
        model = self.on(machine)
        if model is not self:
            return model.operation_times(machine)
        precision, rates = self._device(machine.accelerator, share_of_device(machine))
        if precision is None or rates is None:
            return []
        batch = self.plan(machine, precision).batch_size_per_gpu
        table = time_by_class(self.experiment.workload, precision, batch, self.variant, self.calibration, rates)
        shards = split_of(self.experiment, machine).shards
        return [
            entry._replace(flops=entry.flops / shards, bytes=entry.bytes / shards, seconds=entry.seconds / shards)
            for entry in table
        ]

    def _timed(self, fitting: Fitting) -> StepEstimate:
        machine, precision, plan = fitting.machine, fitting.precision, fitting.plan
        time, link = self._device_and_link(fitting)
        loading = input_rate(self.experiment, machine, self.calibration, self.knowledge.host)
        flags = self._flags(fitting, time, link, loading)
        doubts = self._doubts(machine, flags)
        correction = self._correction_of(fitting, doubts)
        parts = parts_of(time, link, loading, plan, math.exp(-correction.log_offset))
        bound = bound_by(parts, time, loading, offloaded=self._offloads)
        peak_flops_per_s = precision.peak_flops_per_s * fitting.share * machine.devices
        step_time = self._spread(fitting, parts, correction, doubts)
        if self.scope != "forward" and not self._multiplies_less(precision):
            step_time = not_above_peak(step_time, self._training_flops * plan.global_batch_size / peak_flops_per_s)
        rate = step_time.inverse(plan.global_batch_size)
        return StepEstimate(
            precision=precision.name,
            batch_size_per_gpu=plan.batch_size_per_gpu,
            grad_accum_steps=plan.grad_accum_steps,
            global_batch_size=plan.global_batch_size,
            fits=True,
            memory_required_bytes=fitting.required_bytes,
            memory_available_bytes=fitting.available_bytes,
            step_time_s=step_time,
            samples_per_s=rate,
            parts=parts,
            bound_by=bound,
            mfu=self._training_flops * rate.p50 / peak_flops_per_s,
            evidence=correction.evidence,
            flags=(*flags, "input_bound") if bound == "input" else flags,
            notes=(
                *((precision.note,) if precision.note else ()),
                *_split_notes(fitting.split, plan),
                *input_notes(parts, loading),
            ),
        )

    def _device_and_link(self, fitting: Fitting) -> tuple[DeviceTime, Communication]:
        """The step's time on a device, and what the devices' exchanges add, before evidence corrects them."""
        machine, precision, plan = fitting.machine, fitting.precision, fitting.plan
        key = (precision, fitting.rates, plan, fitting.split)
        time = self._device_times.get(key)
        if time is None:
            time = self._device_times[key] = self.device_time(precision, fitting.rates, plan, fitting.split)
        network = machine.network if machine.num_nodes > 1 else None
        linked = (precision, time, plan, machine.num_gpus, machine.num_nodes, machine.link, network)
        link = self._links.get(linked)
        if link is None:
            link = self._links[linked] = self._communication(machine, precision, time, plan)
        return self._offloaded(machine, precision, time, link, plan) if self._offloads else (time, link)

    def _flags(self, fitting: Fitting, time: DeviceTime, link: Communication, loading: InputRate) -> tuple[str, ...]:
        machine, precision = fitting.machine, fitting.precision
        flags = flags_of(
            machine, precision, time, fitting.plan, link, loading, fitting.required_bytes, fitting.available_bytes
        )
        if self.knowledge.profiled:
            flags = _without(flags, "cpu_unmeasured")
        known = self._knows_architecture(machine.accelerator, precision)
        return flags if known else (*flags, "architecture_unmeasured")

    def _doubts(self, machine: Machine, flags: tuple[str, ...]) -> tuple[str, ...]:
        """What widens the interval: the flags, several devices, and an update on the host, which decides then and which
        nobody has held against measurements."""
        doubts = (*flags, "several_devices") if machine.devices > 1 else flags
        return (*doubts, "host_bound") if self._offloads else doubts

    def _spread(self, fitting: Fitting, parts: StepParts, correction: Correction, doubts: tuple[str, ...]) -> Interval:
        """The step's interval, whose P10 is that of a fast network where nobody knows the network."""
        step_time = correction.interval(parts.total_s)
        if "network_unknown" not in doubts:
            return step_time
        # It may as well be a fast one, which computing hides.
        known = self._correction_of(fitting, _without(doubts, "network_unknown"))
        unhindered_s = known.interval(parts.total_s - parts.communication_s).p10
        return step_time._replace(p10=min(step_time.p10, unhindered_s))

    @property
    def _offloads(self) -> bool:
        """Whether the update runs on the host."""
        return self.experiment.offload is not None and self.scope == "step"

    def _communication(
        self, machine: Machine, precision: DevicePrecision, time: DeviceTime, plan: BatchPlan
    ) -> Communication:
        """What the devices' exchanges add: gradients of data parallelism, activations of a split model."""
        micro_step_s, passes = (time.forward_s + time.backward_s) / plan.grad_accum_steps, plan.grad_accum_steps
        split = is_split(self.experiment)
        if self._framework in MODEL_PARALLEL and machine.devices > 1 and not split:
            return model_parallel(micro_step_s, passes, self.calibration)
        sums = NO_COMMUNICATION
        if self.scope != "forward":
            sums = communicate(
                self.experiment, precision, machine, micro_step_s, passes, self.calibration, self.lineage
            )
        if not split:
            return sums
        batch = plan.batch_size_per_gpu
        return sums.plus(exchange(self.experiment, precision, machine, micro_step_s, batch, passes, self.calibration))

    def _offloaded(
        self, machine: Machine, precision: DevicePrecision, time: DeviceTime, link: Communication, plan: BatchPlan
    ) -> tuple[DeviceTime, Communication]:
        """The step whose update runs on the host, with the copies to and from it."""
        computing_s = time.forward_s + time.backward_s
        moved = offload_time(self.experiment, precision, machine, computing_s, plan.grad_accum_steps, self.calibration)
        copies = Communication(moved.exposed_s, moved.exposed_s, moved.flags)
        return time._replace(optimizer_s=moved.update_s), link.plus(copies)

    def _multiplies_less(self, precision: DevicePrecision) -> bool:
        if precision.winograd not in self._less:
            self._less[precision.winograd] = multiplies_less(self.experiment.workload, precision)
        return self._less[precision.winograd]

    def _correction_of(self, fitting: Fitting, flags: tuple[str, ...]) -> Correction:
        """What is known of the run, with what the flags doubt."""
        machine, precision = fitting.machine, fitting.precision
        run = run_of(fitting.plan.batch_size_per_gpu, machine.devices) if self.knowledge.references else ""
        # CPUs of one family differ in cores, and so in rates, but share their key and with it what was measured.
        key = (machine.accelerator.key, precision.width, flags, run)
        if key not in self._corrections:
            subject = self._subject(machine.accelerator, precision)
            self._corrections[key] = self.knowledge.correction(subject, flags, run)
        return self._corrections[key]

    def _knows_architecture(self, accelerator: Accelerator, precision: DevicePrecision) -> bool:
        key = (accelerator.key, precision.width)
        if key not in self._known_architectures:
            subject = self._subject(accelerator, precision)
            self._known_architectures[key] = self.knowledge.knows_architecture(subject, accelerator)
        return self._known_architectures[key]

    def _subject(self, accelerator: Accelerator, precision: DevicePrecision) -> Subject:
        """What an estimate there is about."""
        workload = self.experiment.workload
        return subject_of(workload.name, self.lineage, precision.width, accelerator, workload.family)


def share_with_gradients(workload: Workload) -> float:
    """The part of forward that gradients flow through, which checkpointing runs again: frozen encoders beside the
    network that is trained have no backward, which counts twice what it belongs to."""
    if workload.trainable_parameters is None:
        return 1.0
    forward = workload.forward_flops_per_sample
    backward = workload.training_flops_per_sample - forward
    return min(backward / (2.0 * forward), 1.0) if forward else 1.0


def soft_maximum(device_s: float, host_s: float, norm: float) -> float:
    """Seconds when device and host work side by side: the larger, a little more where they are alike."""
    larger, smaller = (device_s, host_s) if device_s >= host_s else (host_s, device_s)
    factor: float = (1.0 + (smaller / larger) ** norm) ** (1.0 / norm)
    return larger * factor


def _split_notes(split: Split, plan: BatchPlan) -> tuple[str, ...]:
    """What there is to know of a pipeline: how long its stages wait for each other."""
    if split.pipeline == 1:
        return ()
    idle = idle_share(split, plan.grad_accum_steps)
    return (f"{split.pipeline} pipeline stages wait {idle:.0%} of {plan.grad_accum_steps} micro steps for each other",)


def _without(flags: tuple[str, ...], left_out: str) -> tuple[str, ...]:
    return tuple(flag for flag in flags if flag != left_out)
