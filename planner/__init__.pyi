from planner.errors import InputError as InputError
from planner.errors import PlannerError as PlannerError
from planner.experiment.experiment import Experiment as Experiment
from planner.library import estimate as estimate
from planner.library import load_workload as load_workload
from planner.library import make_experiment as make_experiment
from planner.plan.plan import Plan as Plan
from planner.workloads.workload import Workload as Workload

__version__: str
