"""Work on the workers of a Dask cluster (`dask.distributed`, extra `dask`), which is imported when it is used.

`cluster` names a cluster, `connection` submits tasks to its workers, `slots` limits how many run at once, `references`
describes in JSON the objects that a worker creates, `worker` runs asynchronous code on a worker.
"""

from .cluster import DASK, PROCESS, DaskCluster, chosen_cluster
from .connection import ClusterConnection, Refusal, WorkersLostError
from .references import WorkerReference, function_reference, load_object, resolve_reference
from .slots import Slots
from .worker import check_release, loom_release, refused, run_on_worker, worker_name

__all__ = [
    "DASK",
    "PROCESS",
    "ClusterConnection",
    "DaskCluster",
    "Refusal",
    "Slots",
    "WorkerReference",
    "WorkersLostError",
    "check_release",
    "chosen_cluster",
    "function_reference",
    "load_object",
    "loom_release",
    "refused",
    "resolve_reference",
    "run_on_worker",
    "worker_name",
]
