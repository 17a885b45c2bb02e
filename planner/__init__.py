"""gpuplanner: where to train a model, how long it takes and what it costs.

The names of the library are looked up as they are used, so that ``import planner`` costs nothing; their types are in
``__init__.pyi``.
"""

__version__ = "0.1.0"

_LIBRARY = {
    "estimate": "planner.library",
    "make_experiment": "planner.library",
    "Experiment": "planner.experiment.experiment",
    "Workload": "planner.workloads.workload",
    "load_workload": "planner.library",
    "Plan": "planner.plan.plan",
    "PlannerError": "planner.errors",
    "InputError": "planner.errors",
}

__all__ = ["__version__", *_LIBRARY]


def __getattr__(name: str) -> object:
    if name not in _LIBRARY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_LIBRARY[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
