"""What is known of speeds: what ships, the user's own measurements, recorded outcomes, this machine's profile."""

from planner.experiment.experiment import Experiment
from planner.hardware.local import FoundMachine
from planner.plan.question import Question
from planner.plan.world import World
from planner.throughput.evidence import Expectation, Knowledge, shipped_knowledge
from planner.units import counted


def knowledge_for(question: Question, experiment: Experiment, world: World) -> tuple[Knowledge, list[str]]:
    """What ships, what the user measured, how recorded forecasts ended, and what the profile of this machine says.

    With it what is to be said of measurements and forecasts. Raises InputError.
    """
    knowledge, local = shipped_knowledge(), world.local
    expected = _expectation(local)
    taught: list[str] = []
    if question.measured:
        from planner.throughput.own_measurements import knowledge_with

        knowledge = knowledge_with(question.measured, experiment, expected)
        told = " and ".join(dict.fromkeys(question.measured))
        taught.append(f"your own measurement of {told} samples/s moved what is estimated (--measured)")
    if world.ledger is not None:
        from planner.plan.ledger import read_ledger
        from planner.plan.ledger_score import references_of, runs_here

        entries = read_ledger(world.ledger)
        if references := references_of(entries, expected):
            knowledge = knowledge.with_references(references)
            told = counted(len(references), "outcome")
            taught.append(f"{told} of recorded forecasts moved what is estimated (gpuplanner ledger)")
        if local.profile is not None:
            runs = (*local.profile.runs, *runs_here(entries))
            local = local._replace(profile=local.profile._replace(runs=runs))
    if local.profile is None:
        return knowledge, taught
    from planner.throughput.measured import knowledge_with_profile

    return knowledge_with_profile(knowledge, local.profile, local.machine, experiment), taught


def doubted(question: Question, experiment: Experiment) -> list[str]:
    """What cannot be right of the user's own measurements, a sentence each. Raises InputError."""
    if not question.measured:
        return []
    from planner.throughput.own_measurements import doubtful

    return doubtful(question.measured, experiment)


def _expectation(local: FoundMachine) -> Expectation | None:
    """What measurements of GPUs are held against where this machine's own were measured; None: against what ships."""
    if local.profile is None or local.profile.gpu is None or local.machine.accelerator.kind == "cpu":
        return None
    from planner.throughput.measured_gpu import rates_alone

    return rates_alone(local.profile, local.machine)
