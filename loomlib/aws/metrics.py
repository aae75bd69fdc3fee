"""CloudWatch metrics of one resource over a short time range."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from loomlib.errors import AccessDeniedError, AwsError, ServiceFailedError

from .connection import Clients
from .errors import failure, translated

_PERIOD_S: Final = 60
_QUERIES_A_CALL: Final = 500  # GetMetricData's limit
_FAILED: Final[Mapping[str, type[AwsError]]] = {"InternalError": ServiceFailedError, "Forbidden": AccessDeniedError}
"""Status codes of metrics that GetMetricData could not read; the HTTP status is 200 nevertheless."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricTotal:
    """A metric over a time range: the number of samples, and their sum, mean and maximum in the metric's unit."""

    name: str
    dimensions: Mapping[str, str]
    samples: int
    total: float
    largest: float

    @property
    def mean(self) -> float:
        """The mean of all samples."""
        return self.total / self.samples if self.samples else 0.0


def metric_totals(
    clients: Clients, namespace: str, *, about: str, start: datetime, end: datetime, region: str | None = None
) -> list[MetricTotal]:
    """Return the metrics of `namespace` with a dimension value that contains `about`, except those without data.

    CloudWatch provides them per minute, with a delay of some minutes.

    Args:
        clients: The AWS clients of a connection.
        namespace: CloudWatch's namespace of the metrics.
        about: A part of a dimension's value, such as a runtime's id.
        start: Start of the time range.
        end: End of the time range.
        region: The region, if it is not the connection's.

    Raises:
        AccessDeniedError: The caller may not read a metric.
        ServiceFailedError: CloudWatch could not read a metric.
    """
    metrics = [
        metric
        for metric in _metrics(clients, namespace, region)
        if any(about in value for value in _dimensions(metric).values())
    ]
    totals: list[MetricTotal] = []
    for at in range(0, len(metrics), _QUERIES_A_CALL // 3):
        batch = metrics[at : at + _QUERIES_A_CALL // 3]
        values = _values(clients, namespace, batch, start, end, region)
        for place, metric in enumerate(batch):
            samples = sum(values.get((place, "SampleCount"), ()))
            if samples:
                totals.append(
                    MetricTotal(
                        name=str(metric["MetricName"]),
                        dimensions=_dimensions(metric),
                        samples=int(samples),
                        total=sum(values.get((place, "Sum"), ())),
                        largest=max(values.get((place, "Maximum"), ()), default=0.0),
                    )
                )
    return sorted(totals, key=lambda total: (total.name, sorted(total.dimensions.items())))


def _metrics(clients: Clients, namespace: str, region: str | None) -> Iterator[Mapping[str, Any]]:
    query: dict[str, Any] = {"Namespace": namespace}
    while True:
        with translated("Listing metrics", on=namespace):
            page: dict[str, Any] = clients.client("cloudwatch", region).list_metrics(**query)
        yield from page.get("Metrics", ())
        token = page.get("NextToken")
        if not token or token == query.get("NextToken"):
            return
        query["NextToken"] = token


def _values(
    clients: Clients,
    namespace: str,
    metrics: list[Mapping[str, Any]],
    start: datetime,
    end: datetime,
    region: str | None,
) -> dict[tuple[int, str], list[float]]:
    queries = [
        {
            "Id": f"m{place}_{statistic.lower()}",
            "MetricStat": {
                "Metric": {
                    "Namespace": namespace,
                    "MetricName": metric["MetricName"],
                    "Dimensions": metric.get("Dimensions", []),
                },
                "Period": _PERIOD_S,
                "Stat": statistic,
            },
        }
        for place, metric in enumerate(metrics)
        for statistic in ("SampleCount", "Sum", "Maximum")
    ]
    places = {
        str(query["Id"]): (at // 3, ("SampleCount", "Sum", "Maximum")[at % 3]) for at, query in enumerate(queries)
    }
    series: dict[tuple[int, str], list[float]] = {}
    request: dict[str, Any] = {"MetricDataQueries": queries, "StartTime": start, "EndTime": end}
    while True:
        with translated("Reading metrics", on=namespace):
            page: dict[str, Any] = clients.client("cloudwatch", region).get_metric_data(**request)
        for result in page.get("MetricDataResults", ()):
            if (kind := _FAILED.get(result.get("StatusCode", ""))) is not None:
                name = metrics[places[str(result["Id"])][0]]["MetricName"]
                reasons = "; ".join(str(message.get("Value", "")) for message in result.get("Messages", ()))
                reason = f"{result['StatusCode']}: {reasons}" if reasons else str(result["StatusCode"])
                raise failure(
                    kind, f"Reading metrics: {reason}", on=f"{name} in {namespace}", code=result["StatusCode"]
                )
            series.setdefault(places[str(result["Id"])], []).extend(float(value) for value in result.get("Values", ()))
        token = page.get("NextToken")
        if not token or token == request.get("NextToken"):
            return series
        request["NextToken"] = token


def _dimensions(metric: Mapping[str, Any]) -> dict[str, str]:
    return {str(dimension["Name"]): str(dimension["Value"]) for dimension in metric.get("Dimensions", ())}
