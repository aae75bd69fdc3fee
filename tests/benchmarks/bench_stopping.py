"""Studies that stop early by a confidence sequence: false alarms, and calls saved against the fixed size.

`python tests/benchmarks/bench_stopping.py [studies]`. Setting: the p90 of log-normal durations within 10 %. The fixed
size is chosen before anything is known, for a spread of sigma 0.8 (a p90 of 2.8 medians): 719 calls by the normal
approximation of the percentile, z²·p(1 − p)·sigma² / (phi(z_p)·0.1)². The studies have a true spread of 0.25, 0.35 and
0.5. A false alarm is a study whose interval leaves the truth at any of its looks.
"""

from __future__ import annotations

import math
import sys
from statistics import NormalDist

import numpy as np

from loomlib.statistics import StoppingRule

P, MARGIN, GUESSED = 0.9, 0.1, 0.8


def fixed_size(sigma: float) -> int:
    normal = NormalDist()
    quantile = normal.inv_cdf(P)
    half = normal.inv_cdf(0.975) * math.sqrt(P * (1 - P)) * sigma / normal.pdf(quantile)
    return math.ceil((half / MARGIN) ** 2)


def run(studies: int) -> None:
    rule, planned = StoppingRule(p=P, within=MARGIN), fixed_size(GUESSED)
    looks = [n for n in range(1, planned + 1) if rule.is_look(n)]
    for sigma in (0.25, 0.35, 0.5):
        random = np.random.default_rng(2026)
        truth, alarms, calls = math.exp(sigma * NormalDist().inv_cdf(P)), 0, 0
        for _ in range(studies):
            values, alarm, used = np.exp(sigma * random.standard_normal(planned)), False, planned
            for n in looks:
                look = rule.estimate(values[:n], 0, planned=planned)  # type: ignore[arg-type]
                if look.low is not None and look.high is not None:
                    alarm |= look.low > truth or (look.high < truth and not look.open_above)
                if rule.is_met(look):
                    used = n
                    break
            alarms, calls = alarms + alarm, calls + used
        print(
            f"sigma {sigma}: {studies} studies, false alarms {alarms / studies:.2%}, {calls / studies:.0f} calls of "
            f"{planned} ({1 - calls / studies / planned:.0%} fewer); known spread: {fixed_size(sigma)}"
        )


if __name__ == "__main__":
    run(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
