"""The method of finding changes, for the page of a watch."""

from __future__ import annotations

from typing import Final

METHOD_NOTES: Final = (
    "One value per night and figure: the nights are compared, not their calls, so that their difference from night to "
    "night is part of every interval. Studies of one day under the same conditions are one night; so are evaluations.",
    "A change is found by an e-process of ranks over all possible nights (loomlib.statistics.changes). Without a "
    "change the probability of any false alarm is at most 5 % in all figures together, however many nights there are "
    "and however often somebody looks, whatever the distribution: provided that nights do not depend on each other.",
    "The day is given as a range that contains the true first night in 96 to 98 % of simulated histories. An effect is "
    "the median of all ratios of a later to an earlier night, and for shares and scores the median of all differences "
    "(Hodges & Lehmann), with a 95 % interval that is valid however often it is computed.",
    "Nights are compared only with the same prompt, number of calls, stopping rule and measuring machine. Studies on "
    "an overloaded machine are left out. Evaluations are compared only with the same cases, evaluators and number of "
    "repeats; those that used stored answers again are left out.",
    "The cost of a call is the sum of what is known of it; nights are compared only where the same part is known. A "
    "change of the prices between two nights is a change of the cost.",
)
