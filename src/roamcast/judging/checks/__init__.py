"""The kinds of checks that claims consist of: each is a small function over the runs of an experiment.

A check compares an interval with what the claim allows (answers.py). Orders and trends are checked on differences seed
by seed, because runs of one seed share their world. A claim with m questions checks each at a confidence of 1 - 0.05/m
(Bonferroni), so that the claim as a whole is wrongly confirmed or refuted in at most one case of twenty.

    kind      holds if                                                    takes
    value     the mean is `value` within `abs` or `rel`                   where, metric
    at_least  the mean is at least `value`, less `abs` or `rel`           where, metric
    at_most   the mean is at most `value`, plus `abs` or `rel`            where, metric
    equal     two means differ by at most `abs`                           of, to, metric
    order     one is above the other (by `factor`, if given)              above, below, metric; across
    ratio     one mean over another is between `low` and `high`           of, to, metric; across
    trend     the metric `rises`, `falls` or stays `flat` (within `abs`   where, metric, x, direction
              or `rel` of its mean, as a whole and at every point)
    steeper   it changes more in one series than in another               of, to, metric, x, direction
    crossing  where one metric reaches a value, another is `value`        where, x, reach, metric; side = "at_least"
    cheaper   at every point of a curve the metric is below that of       of, x, to, to_x, at, metric
              another curve where it has the same `at`
    bounds    every mean is below `high` and above `low`                  where, metric, x
    spread    best less worst of `block` seeds, or of all seeds that      where, metric, block or by;
              have the same `by` (a coordinate), is `value` within `abs`;     each
              with `each`, of the means of those that have the same `each`
    peak      the metric is higher somewhere inside than at both ends     where, metric, x
    like      the metric follows x like a `line` rather than a `log`      where, metric, x, like
    jump      most of the change happens within a part of the axis        where, metric, x, share, within
    no_best   no series is best for every x                               where, metric, x, series
    model     a number of a paper's model, exact                          function, value, abs (papers/models)

`where`, `of`, `to`, `above` and `below` name cells by label, protocol, parameters and world fields, as texts:
{ label = "gossip", p = "0.5" }; a list of texts admits any of them. `by` and `each` may also be "publisher", the node
that publishes first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from roamcast.errors import NoData, unknown
from roamcast.judging.answers import Answer, unanswered
from roamcast.judging.checks import comparisons, curves, levels, shapes, spread
from roamcast.judging.runs import Spec, fits
from roamcast.judging.student import ALPHA
from roamcast.judging.words import question
from roamcast.log.metric import Row
from roamcast.papers import models

KINDS: dict[str, Callable[[Spec, Sequence[Row], float], list[Answer]]] = {
    "value": levels.value,
    "at_least": levels.at_least,
    "at_most": levels.at_most,
    "equal": comparisons.equal,
    "order": comparisons.order,
    "ratio": comparisons.ratio,
    "trend": curves.trend,
    "steeper": curves.steeper,
    "crossing": curves.crossing,
    "cheaper": curves.cheaper,
    "peak": shapes.peak,
    "like": shapes.like,
    "bounds": levels.bounds,
    "spread": spread.spread,
    "jump": shapes.jump,
    "no_best": comparisons.no_best,
    "model": lambda spec, _rows, _alpha: [_model(spec)],
}

SELECTIONS = ("where", "of", "to", "above", "below")
"""The entries of a check that choose runs."""


def answers(spec: Spec, rows: Sequence[Row], alpha: float = ALPHA) -> list[Answer]:
    """The answers of the runs of the check's experiment."""
    kind = spec.get("kind", "")
    if kind not in KINDS:
        raise unknown("kind of check", str(kind), KINDS)
    try:
        return KINDS[kind](spec, rows, alpha)
    except NoData as error:
        return [unanswered(question(spec), str(error))]


def looks_at(spec: Spec, row: Row) -> bool:
    """Whether a run, or a cell that is to be run, is one that the check chooses."""
    return any(fits(row, spec[part]) for part in SELECTIONS if part in spec)


def counted_as(spec: Spec, metrics: Mapping[str, str]) -> Spec:
    """The check with other metrics in the place of its own."""

    def instead(name: str) -> str:
        return metrics.get(name, name)

    changed = {**spec, **{name: instead(spec[name]) for name in ("metric", "at") if name in spec}}
    if "reach" in spec:
        changed["reach"] = {**spec["reach"], "metric": instead(spec["reach"]["metric"])}
    return changed


def _model(spec: Spec) -> Answer:
    if spec["function"] not in models.CHECKS:
        raise unknown("model", spec["function"], models.CHECKS)
    measured, holds, why = models.CHECKS[spec["function"]](spec)
    return Answer(question(spec), measured, measured, measured, holds, why)
