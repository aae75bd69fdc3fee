"""Estimates with confidence intervals: percentiles, shares, ratios, means, rates, agreement; and paired tests."""

from typing import TYPE_CHECKING

from ..deprecation import renamed_names
from ..dispatch import names_on_use

if TYPE_CHECKING:
    from .agreement import (
        LEVELS_OF_MEASUREMENT,
        cohen_kappa,
        estimate_alpha,
        estimate_kappa,
        krippendorff_alpha,
    )
    from .estimates import Estimate
    from .gates import (
        GATE_OUTCOMES,
        MISSED,
        PASSED,
        UNCLEAR,
        Decision,
        decide_at_least,
        decide_at_most,
        decide_not_worse,
        outcome_at_least,
        outcome_at_most,
        outcome_not_worse,
    )
    from .groups import GroupComparison, compare_groups, permutation_p_values
    from .means import cluster_means, clustered_standard_error, estimate_mean, standard_error
    from .multiplicity import benjamini_hochberg, holm
    from .pairs import (
        PairedTest,
        bootstrap_means,
        cohens_d,
        cohens_h,
        discordant_odds_ratio,
        estimate_difference,
        mcnemar,
        paired_bootstrap,
        paired_t,
    )
    from .percentile_power import calls_for_percentile_difference, calls_for_width
    from .percentiles import (
        CONFIDENCE,
        PERCENTILE_METHOD,
        RESAMPLES,
        SHARE_METHOD,
        SMALLEST_N,
        bounded_from,
        difference_of,
        estimate_paired_difference,
        estimate_percentile,
        estimate_percentile_difference,
        estimate_percentiles,
        estimate_share,
        is_bounded_above,
        needed_for,
        percentile,
    )
    from .power import cases_for_difference, cases_for_rate_difference, detectable_difference, sessions_for_difference
    from .rates import estimate_pass_all, estimate_pass_at, estimate_rate, pass_at_k, pass_hat_k
    from .ratios import RATIO_METHOD, estimate_ratio
    from .sequential import SEQUENCE_METHOD, sequence_percentile, sequence_share
    from .stopping import StoppingRule

__all__ = [
    "CONFIDENCE",
    "GATE_OUTCOMES",
    "LEVELS_OF_MEASUREMENT",
    "MISSED",
    "PASSED",
    "PERCENTILE_METHOD",
    "RATIO_METHOD",
    "RESAMPLES",
    "SEQUENCE_METHOD",
    "SHARE_METHOD",
    "SMALLEST_N",
    "UNCLEAR",
    "Decision",
    "Estimate",
    "GroupComparison",
    "PairedTest",
    "StoppingRule",
    "benjamini_hochberg",
    "bootstrap_means",
    "bounded_from",
    "calls_for_percentile_difference",
    "calls_for_width",
    "cases_for_difference",
    "cases_for_rate_difference",
    "cluster_means",
    "clustered_standard_error",
    "cohen_kappa",
    "cohens_d",
    "cohens_h",
    "compare_groups",
    "decide_at_least",
    "decide_at_most",
    "decide_not_worse",
    "detectable_difference",
    "difference_of",
    "discordant_odds_ratio",
    "estimate_alpha",
    "estimate_difference",
    "estimate_kappa",
    "estimate_mean",
    "estimate_paired_difference",
    "estimate_pass_all",
    "estimate_pass_at",
    "estimate_percentile",
    "estimate_percentile_difference",
    "estimate_percentiles",
    "estimate_rate",
    "estimate_ratio",
    "estimate_share",
    "holm",
    "is_bounded_above",
    "krippendorff_alpha",
    "mcnemar",
    "needed_for",
    "outcome_at_least",
    "outcome_at_most",
    "outcome_not_worse",
    "paired_bootstrap",
    "paired_t",
    "pass_at_k",
    "pass_hat_k",
    "percentile",
    "permutation_p_values",
    "sequence_percentile",
    "sequence_share",
    "sessions_for_difference",
    "standard_error",
]

__getattr__ = names_on_use(
    __name__,
    {
        "agreement": "LEVELS_OF_MEASUREMENT cohen_kappa estimate_alpha estimate_kappa krippendorff_alpha",
        "estimates": "Estimate",
        "gates": (
            "Decision GATE_OUTCOMES MISSED PASSED UNCLEAR decide_at_least decide_at_most decide_not_worse "
            "outcome_at_least outcome_at_most outcome_not_worse"
        ),
        "groups": "GroupComparison compare_groups permutation_p_values",
        "means": "cluster_means clustered_standard_error estimate_mean standard_error",
        "multiplicity": "benjamini_hochberg holm",
        "pairs": (
            "PairedTest bootstrap_means cohens_d cohens_h discordant_odds_ratio estimate_difference mcnemar "
            "paired_bootstrap paired_t"
        ),
        "percentile_power": "calls_for_percentile_difference calls_for_width",
        "percentiles": (
            "CONFIDENCE PERCENTILE_METHOD RESAMPLES SHARE_METHOD SMALLEST_N bounded_from difference_of "
            "estimate_paired_difference estimate_percentile estimate_percentile_difference estimate_percentiles "
            "estimate_share is_bounded_above needed_for percentile"
        ),
        "power": "cases_for_difference cases_for_rate_difference detectable_difference sessions_for_difference",
        "rates": "estimate_pass_all estimate_pass_at estimate_rate pass_at_k pass_hat_k",
        "ratios": "RATIO_METHOD estimate_ratio",
        "sequential": "SEQUENCE_METHOD sequence_percentile sequence_share",
        "stopping": "StoppingRule",
    },
    renamed_names(__name__, {"cases_for_flips": "cases_for_rate_difference", "flip_odds": "discordant_odds_ratio"}),
)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
