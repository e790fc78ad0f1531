"""Whether measurements agree with a claim: each kind of check is a small function over the runs of an experiment.

A check compares an interval with what the claim allows. Inside: it holds. Outside: it does not. Astride: the runs are
too few to tell, and the answer says about how many would do. Orders and trends are asked of differences seed by seed
(runs of one seed share their world), and a claim that asks m questions asks each at a confidence of 1 - 0.05/m
(Bonferroni), so that the claim as a whole is wrongly confirmed or refuted in one case of twenty at most.

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

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import ceil, isfinite
from typing import Any, NamedTuple

import msgspec
import numpy as np

from roamcast.errors import InputError, NoData, unknown
from roamcast.lab.publisher import publisher
from roamcast.lab.quantities import Row, value
from roamcast.lab.student import ALPHA, interval, quantile
from roamcast.papers import models

Spec = Mapping[str, Any]
Samples = dict[int, float]
"""A number by seed."""
ABOVE = float(np.nextafter(0.0, 1.0))
"""The smallest difference that is one."""
MOST_TIMES = 100.0
"""If the half of an interval is over so many times the gap to a limit, no affordable number of seeds decides."""


class Answer(msgspec.Struct, frozen=True):
    """To one question: the figure, its interval, and whether it holds (None: the runs are too few).

    `seeds` is how many the figure comes from, `needs` about how many would decide, where more would.
    """

    asks: str
    measured: float | None
    low: float | None
    high: float | None
    holds: bool | None
    why: str = ""
    seeds: int = 0
    needs: int | None = None


class Estimate(NamedTuple):
    """A figure, the interval around it, and how many seeds it comes from."""

    middle: float
    least: float
    most: float
    seeds: int


def answers(spec: Spec, rows: Sequence[Row], alpha: float = ALPHA) -> list[Answer]:
    """What the runs of the check's experiment say."""
    kind = spec.get("kind", "")
    if kind not in KINDS:
        raise unknown("kind of check", str(kind), KINDS)
    try:
        return KINDS[kind](spec, rows, alpha)
    except NoData as error:
        return [Answer(_title(spec), None, None, None, None, str(error))]


SELECTIONS = ("where", "of", "to", "above", "below")
"""The entries of a check that choose runs."""


def looks_at(spec: Spec, row: Row) -> bool:
    """Whether a run, or a cell that is to be run, is one that the check chooses."""
    chosen = (spec[part] for part in SELECTIONS if part in spec)
    return any(all(_fits(row, name, wanted) for name, wanted in where.items()) for where in chosen)


def counted_as(spec: Spec, metrics: Mapping[str, str]) -> Spec:
    """The check with other metrics in the place of its own."""

    def instead(name: str) -> str:
        return metrics.get(name, name)

    changed = {**spec, **{name: instead(spec[name]) for name in ("metric", "at") if name in spec}}
    if "reach" in spec:
        changed["reach"] = {**spec["reach"], "metric": instead(spec["reach"]["metric"])}
    return changed


# ---- which runs


def selected(rows: Sequence[Row], where: Spec) -> list[Row]:
    found = [row for row in rows if all(_fits(row, name, wanted) for name, wanted in where.items())]
    if not found:
        raise NoData(f"no runs with {_words(where)}")
    return found


def coordinate(row: Row, name: str) -> str | None:
    """What a run has for a label, protocol, parameter or world field; or the node that publishes."""
    if name in ("label", "protocol", "preset", "campaign"):
        return str(row[name])
    for place in ("params", "world"):
        if name in row[place]:
            return str(row[place][name])
    if name == "publisher":
        return str(publisher(row))
    return str(row["nodes"]) if name == "nodes" else None


def _fits(row: Row, name: str, wanted: Any) -> bool:
    have = coordinate(row, name)
    return any(
        have is not None and _same(have, str(each)) for each in (wanted if isinstance(wanted, list) else [wanted])
    )


def _same(a: str, b: str) -> bool:
    try:
        return float(a) == float(b)
    except ValueError:
        return a == b


def number(row: Row, x: str) -> float:
    have = coordinate(row, x)
    if have is None:
        raise NoData(f"no {x} in the runs")
    try:
        return float(have)
    except ValueError:
        raise InputError(f"{x}={have}: is no number") from None


def samples(rows: Iterable[Row], metric: str) -> Samples:
    """The metric by seed; where several cells are chosen, their mean."""
    found: dict[int, list[float]] = defaultdict(list)
    for row in rows:
        have = value(row, metric)
        if have is not None and isfinite(have):
            found[row["seed"]].append(have)
    if not found:
        raise NoData(f"no run has a {metric}")
    return {seed: sum(values) / len(values) for seed, values in sorted(found.items())}


def curve(rows: Iterable[Row], x: str, metric: str) -> dict[float, Samples]:
    """The metric by seed at each x, ascending."""
    return {at: samples(chosen, metric) for at, chosen in split(rows, x).items()}


def split(rows: Iterable[Row], x: str) -> dict[float, list[Row]]:
    """The runs at each x, ascending."""
    by_x: dict[float, list[Row]] = defaultdict(list)
    for row in rows:
        by_x[number(row, x)].append(row)
    return {at: by_x[at] for at in sorted(by_x)}


# ---- statistics


def estimated(values: Iterable[float], alpha: float) -> Estimate | None:
    """The mean of a number by seed; none for a single one."""
    each = [*values]
    found = interval(each, alpha)
    return None if found is None else Estimate(*found, len(each))


def jackknife(statistic: Callable[[list[int]], float], seeds: list[int], alpha: float) -> Estimate | None:
    """A statistic of many seeds and its interval, by leaving out one seed at a time."""
    n = len(seeds)
    if n < 2:
        return None
    whole = statistic(seeds)
    without = np.array([statistic([s for s in seeds if s != seed]) for seed in seeds])
    error = float(np.sqrt((n - 1) / n * np.sum((without - without.mean()) ** 2)))
    half = error * quantile(n, alpha)
    return Estimate(whole, whole - half, whole + half, n)


def judged(asks: str, found: Estimate | None, low: float, high: float, mean: float | None) -> Answer:
    """Against what is allowed: anything from `low` to `high`."""
    if found is None:
        return Answer(asks, mean, None, None, None, "one run has no interval", 1)
    middle, least, most, seeds = found
    if low <= least and most <= high:
        return Answer(asks, middle, least, most, True, seeds=seeds)
    if most < low or least > high:
        return Answer(asks, middle, least, most, False, seeds=seeds)
    needs = _needed(found, [limit for limit in (low, high) if least <= limit <= most])
    return Answer(asks, middle, least, most, None, _astride(needs), seeds, needs)


def _needed(found: Estimate, limits: list[float]) -> int | None:
    """About how many seeds it takes until the interval, which shrinks like 1/√n, is clear of the limits inside it."""
    gap = min(abs(found.middle - limit) for limit in limits)
    half = (found.most - found.least) / 2
    return ceil(found.seeds * (half / gap) ** 2) if gap > half / MOST_TIMES else None


def _astride(needs: int | None) -> str:
    about = f"about {needs} seeds would tell" if needs else "more seeds would hardly help"
    return f"the interval reaches over the limit: {about}"


def _mean(by_seed: Samples) -> float:
    return sum(by_seed.values()) / len(by_seed)


def _paired(a: Samples, b: Samples) -> list[float]:
    both = sorted(a.keys() & b.keys())
    if not both:
        raise NoData("no seed that both have")
    return [a[seed] - b[seed] for seed in both]


def _slack(spec: Spec) -> float:
    if "rel" in spec:
        return float(spec["rel"]) * abs(float(spec["value"]))
    return float(spec.get("abs", 0.0))


# ---- the kinds


def _value(spec: Spec, rows: Sequence[Row], alpha: float) -> list[Answer]:
    found = samples(selected(rows, spec["where"]), spec["metric"])
    wanted, slack = float(spec["value"]), _slack(spec)
    return [judged(_title(spec), estimated(found.values(), alpha), wanted - slack, wanted + slack, _mean(found))]


def _at_least(spec: Spec, rows: Sequence[Row], alpha: float) -> list[Answer]:
    found = samples(selected(rows, spec["where"]), spec["metric"])
    limit = float(spec["value"]) - _slack(spec)
    return [judged(_title(spec), estimated(found.values(), alpha), limit, np.inf, _mean(found))]


def _at_most(spec: Spec, rows: Sequence[Row], alpha: float) -> list[Answer]:
    found = samples(selected(rows, spec["where"]), spec["metric"])
    limit = float(spec["value"]) + _slack(spec)
    return [judged(_title(spec), estimated(found.values(), alpha), -np.inf, limit, _mean(found))]


def _equal(spec: Spec, rows: Sequence[Row], alpha: float) -> list[Answer]:
    a, b = (samples(selected(rows, spec[side]), spec["metric"]) for side in ("of", "to"))
    differences, slack = _paired(a, b), float(spec["abs"])
    return [judged(_title(spec), estimated(differences, alpha), -slack, slack, float(np.mean(differences)))]


def _order(spec: Spec, rows: Sequence[Row], alpha: float) -> list[Answer]:
    """One answer, or one for each value of `across`."""
    above, below = selected(rows, spec["above"]), selected(rows, spec["below"])
    factor = float(spec.get("factor", 1.0))
    if "across" not in spec:
        return [_above(_title(spec), above, below, spec["metric"], factor, alpha)]
    pairs = _across(above, below, spec["across"])
    return [
        _above(f"{_title(spec)} at {at}", a, b, spec["metric"], factor, alpha / len(pairs))
        for at, (a, b) in pairs.items()
    ]


def _above(asks: str, a: list[Row], b: list[Row], metric: str, factor: float, alpha: float) -> Answer:
    below = {seed: factor * v for seed, v in samples(b, metric).items()}
    differences = _paired(samples(a, metric), below)
    return judged(asks, estimated(differences, alpha), ABOVE, np.inf, float(np.mean(differences)))


def _ratio(spec: Spec, rows: Sequence[Row], alpha: float) -> list[Answer]:
    """One answer, or one for each value of `across`."""
    above, below = selected(rows, spec["of"]), selected(rows, spec["to"])
    if "across" not in spec:
        return [_quotient(_title(spec), above, below, spec, alpha)]
    pairs = _across(above, below, spec["across"])
    return [_quotient(f"{_title(spec)} at {at}", a, b, spec, alpha / len(pairs)) for at, (a, b) in pairs.items()]


def _quotient(asks: str, above: list[Row], below: list[Row], spec: Spec, alpha: float) -> Answer:
    a, b = (samples(side, spec["metric"]) for side in (above, below))
    seeds = sorted(a.keys() & b.keys())
    if not seeds:
        raise NoData("no seed that both have")

    def quotient(chosen: list[int]) -> float:
        whole = sum(b[seed] for seed in chosen)
        return sum(a[seed] for seed in chosen) / whole if whole else np.inf

    low, high = float(spec.get("low", -np.inf)), float(spec.get("high", np.inf))
    whole = quotient(seeds)
    if not isfinite(whole):
        return Answer(asks, None, None, None, None, f"{spec['metric']} is 0 where it divides")
    return judged(asks, jackknife(quotient, seeds, alpha), low, high, whole)


def _across(above: list[Row], below: list[Row], x: str) -> dict[str, tuple[list[Row], list[Row]]]:
    """The runs of both sides at every x that both have, by its name."""
    common = sorted({number(row, x) for row in above} & {number(row, x) for row in below})
    if not common:
        raise NoData(f"no {x} that both have")
    return {
        f"{x}={at:g}": ([row for row in above if number(row, x) == at], [row for row in below if number(row, x) == at])
        for at in common
    }


def _change(rows: Sequence[Row], x: str, metric: str) -> Samples:
    """How much a metric changes over the axis, by seed: the slope of the line through its points, times the axis."""
    points = curve(rows, x, metric)
    if len(points) < 2:
        raise NoData(f"{x} has one value only")
    seeds = _common(points.values())
    places = np.arange(len(points)) / (len(points) - 1)  # by rank: axes are often not linear
    return {seed: float(np.polyfit(places, [points[at][seed] for at in points], 1)[0]) for seed in seeds}


def _trend(spec: Spec, rows: Sequence[Row], alpha: float) -> list[Answer]:
    changes = _change(selected(rows, spec["where"]), spec["x"], spec["metric"])
    mean = _mean(samples(selected(rows, spec["where"]), spec["metric"])) if "rel" in spec else 0.0
    slack = float(spec["rel"]) * abs(mean) if "rel" in spec else float(spec.get("abs", 0.0))
    allowed = {"rises": (slack, np.inf), "falls": (-np.inf, -slack), "flat": (-slack, slack)}
    low, high = allowed[spec["direction"]]
    if spec["direction"] != "flat":
        return [judged(_title(spec), estimated(changes.values(), alpha), low, high, _mean(changes))]
    points = _from_mean(rows, spec)
    alpha /= 1 + len(points)
    whole = judged(_title(spec), estimated(changes.values(), alpha), low, high, _mean(changes))
    return [whole] + [
        judged(
            f"{_title(spec)}: {spec['x']}={at:g} less the mean", estimated(off.values(), alpha), low, high, _mean(off)
        )
        for at, off in points.items()
    ]


def _from_mean(rows: Sequence[Row], spec: Spec) -> dict[float, Samples]:
    """How far each point of a curve is from the mean of all, by seed: what goes up and down again has no slope."""
    points = curve(selected(rows, spec["where"]), spec["x"], spec["metric"])
    seeds = _common(points.values())
    means = {seed: float(np.mean([by_seed[seed] for by_seed in points.values()])) for seed in seeds}
    return {at: {seed: by_seed[seed] - means[seed] for seed in seeds} for at, by_seed in points.items()}


def _steeper(spec: Spec, rows: Sequence[Row], alpha: float) -> list[Answer]:
    a, b = (_change(selected(rows, spec[side]), spec["x"], spec["metric"]) for side in ("of", "to"))
    more = _paired(a, b)
    if spec["direction"] == "falls":
        more = [-difference for difference in more]
    return [judged(_title(spec), estimated(more, alpha), ABOVE, np.inf, float(np.mean(more)))]


def _crossing(spec: Spec, rows: Sequence[Row], alpha: float) -> list[Answer]:
    """Along a curve, where `reach` has its value, by straight lines between points."""
    chosen = selected(rows, spec["where"])
    reach: Spec = spec["reach"]
    on, of = (curve(chosen, spec["x"], metric) for metric in (reach["metric"], spec["metric"]))
    common = [set(on[at]) & set(of[at]) for at in on if at in of]
    seeds = sorted(set.intersection(*common)) if common else []
    wanted, slack = float(spec["value"]), _slack(spec)

    def there(seeds: list[int]) -> float:
        xs = [float(np.mean([on[at][seed] for seed in seeds])) for at in on]
        ys = [float(np.mean([of[at][seed] for seed in seeds])) for at in on]
        return _interpolated(xs, ys, float(reach["value"]))

    if not seeds or not isfinite(there(seeds)):
        return [Answer(_title(spec), None, None, None, None, f"{reach['metric']} never is {reach['value']}")]
    found = jackknife(there, seeds, alpha)
    if found is not None and not all(map(isfinite, found[:3])):
        return [Answer(_title(spec), there(seeds), None, None, None, "some seeds never reach it")]
    most = np.inf if spec.get("side") == "at_least" else wanted + slack
    return [judged(_title(spec), found, wanted - slack, most, there(seeds))]


def _interpolated(xs: list[float], ys: list[float], at: float) -> float:
    """y where x, which need not rise, first has a value."""
    for (x0, y0), (x1, y1) in zip(zip(xs, ys, strict=True), zip(xs[1:], ys[1:], strict=True), strict=False):
        if min(x0, x1) <= at <= max(x0, x1):
            return y0 if x0 == x1 else y0 + (y1 - y0) * (at - x0) / (x1 - x0)
    return np.nan


def _cheaper(spec: Spec, rows: Sequence[Row], alpha: float) -> list[Answer]:
    """Both curves by straight lines between means; where the other never has as much, there is nothing to compare."""
    mine, other = selected(rows, spec["of"]), selected(rows, spec["to"])
    (at, cost), (at_to, cost_to) = (
        tuple(curve(chosen, x, metric) for metric in (spec["at"], spec["metric"]))
        for chosen, x in ((mine, spec["x"]), (other, spec["to_x"]))
    )
    seeds = _common([*at.values(), *cost.values(), *at_to.values(), *cost_to.values()])

    def saved(x: float, seeds: list[int]) -> float:
        xs, ys = ([_over(by_seed, seeds) for by_seed in points.values()] for points in (at_to, cost_to))
        return _interpolated(xs, ys, _over(at[x], seeds)) - _over(cost[x], seeds)

    found = []
    for x in at:
        asks = f"{_title(spec)} at {spec['x']}={x:g}"
        several = jackknife(lambda seeds, x=x: saved(x, seeds), seeds, alpha / len(at))  # type: ignore[misc]
        if not isfinite(saved(x, seeds)) or (several is not None and not all(map(isfinite, several[:3]))):
            found.append(Answer(asks, None, None, None, None, f"{_words(spec['to'])} never has this {spec['at']}"))
        else:
            found.append(judged(asks, several, 0.0, np.inf, saved(x, seeds)))
    return found


def _common(points: Iterable[Samples]) -> list[int]:
    seeds = sorted(set.intersection(*(set(by_seed) for by_seed in points)))
    if not seeds:
        raise NoData("no seed that every point has")
    return seeds


def _over(by_seed: Samples, seeds: list[int]) -> float:
    return float(np.mean([by_seed[seed] for seed in seeds]))


def _peak(spec: Spec, rows: Sequence[Row], alpha: float) -> list[Answer]:
    """The highest point inside is chosen after the fact, so each of them counts as a question asked."""
    points = curve(selected(rows, spec["where"]), spec["x"], spec["metric"])
    first, *inside, last = points
    if not inside:
        raise NoData(f"{spec['x']} has no value between its first and last")
    top = max(inside, key=lambda at: _mean(points[at]))
    found = []
    for end in (first, last):
        more = _paired(points[top], points[end])
        asks = f"{_title(spec)}: more at {spec['x']}={top:g} than at {end:g}"
        found.append(judged(asks, estimated(more, alpha / 2 / len(inside)), 0.0, np.inf, float(np.mean(more))))
    return found


SHAPES: dict[str, Callable[[float], float]] = {"line": lambda x: x, "log": np.log}


def _like(spec: Spec, rows: Sequence[Row], alpha: float) -> list[Answer]:
    """Of what the metric varies, how much more a straight line over f(x) explains than one over the other's f(x)."""
    points = curve(selected(rows, spec["where"]), spec["x"], spec["metric"])
    if len(points) < 3:
        raise NoData(f"{spec['x']} has fewer than three values")
    (other,) = SHAPES.keys() - {spec["like"]}

    def more(seeds: list[int]) -> float:
        ys = [_over(by_seed, seeds) for by_seed in points.values()]
        right, wrong = (np.corrcoef([SHAPES[name](x) for x in points], ys)[0, 1] ** 2 for name in (spec["like"], other))
        return float(right - wrong)

    seeds = _common(points.values())
    return [judged(_title(spec), jackknife(more, seeds, alpha), 0.0, np.inf, more(seeds))]


def _bounds(spec: Spec, rows: Sequence[Row], alpha: float) -> list[Answer]:
    """Of every point's mean."""
    points = curve(selected(rows, spec["where"]), spec["x"], spec["metric"])
    low = float(np.nextafter(spec.get("low", -np.inf), np.inf))  # the bounds themselves are out
    high = float(np.nextafter(spec.get("high", np.inf), -np.inf))
    return [
        judged(f"{_title(spec)} at {spec['x']}={at:g}", estimated(v.values(), alpha / len(points)), low, high, _mean(v))
        for at, v in points.items()
    ]


def _spread(spec: Spec, rows: Sequence[Row], alpha: float) -> list[Answer]:
    """Between the best and the worst of each group."""
    groups = _groups(spec, selected(rows, spec["where"]))
    spreads = [max(group) - min(group) for group in groups]
    wanted, slack = float(spec["value"]), _slack(spec)
    found = judged(_title(spec), estimated(spreads, alpha), wanted - slack, wanted + slack, float(np.mean(spreads)))
    return [msgspec.structs.replace(found, needs=None)]  # it takes more groups: more seeds of each would not do


def _groups(spec: Spec, rows: list[Row]) -> list[list[float]]:
    """Of all seeds that share a coordinate, or of every `block` seeds that follow each other."""
    if "by" in spec:
        return [_members(spec, group) for group in split(rows, spec["by"]).values()]
    found = [*samples(rows, spec["metric"]).values()]
    size = int(spec["block"])
    blocks = [found[at : at + size] for at in range(0, len(found) - size + 1, size)]
    if not blocks:
        raise NoData(f"{len(found)} seeds; it takes {size}")
    return blocks


def _members(spec: Spec, group: list[Row]) -> list[float]:
    """What is compared within a group: its seeds, or the means of those that share another coordinate."""
    if "each" not in spec:
        return [*samples(group, spec["metric"]).values()]
    return [_mean(samples(rows, spec["metric"])) for rows in split(group, spec["each"]).values()]


def _jump(spec: Spec, rows: Sequence[Row], alpha: float) -> list[Answer]:
    """The largest share of the whole change that happens within a part `within` of the axis."""
    points = curve(selected(rows, spec["where"]), spec["x"], spec["metric"])
    xs = list(points)
    seeds = sorted(set.intersection(*(set(by_seed) for by_seed in points.values())))
    part = float(spec["within"]) * (xs[-1] - xs[0])

    def share(seeds: list[int]) -> float:
        ys = [float(np.mean([points[x][seed] for seed in seeds])) for x in xs]
        whole = max(ys) - min(ys)
        steps = [ys[j] - ys[i] for i in range(len(xs)) for j in range(i + 1, len(xs)) if xs[j] - xs[i] <= part + 1e-9]
        return max(map(abs, steps), default=0.0) / whole if whole else 0.0

    return [judged(_title(spec), jackknife(share, seeds, alpha), float(spec["share"]), np.inf, share(seeds))]


def _no_best(spec: Spec, rows: Sequence[Row], alpha: float) -> list[Answer]:
    """The series that is best at one end is significantly worse than another at the other end."""
    chosen = selected(rows, spec["where"])
    names = sorted({coordinate(row, spec["series"]) or "" for row in chosen})
    xs = sorted({number(row, spec["x"]) for row in chosen})

    def at(name: str, x: float) -> Samples:
        return samples(selected(chosen, {spec["series"]: name, spec["x"]: x}), spec["metric"])

    found = []
    for here, there in ((xs[0], xs[-1]), (xs[-1], xs[0])):
        best = max(names, key=lambda name: _mean(at(name, here)))
        rival = max((name for name in names if name != best), key=lambda name: _mean(at(name, there)))
        less = _paired(at(rival, there), at(best, there))
        asks = f"{spec['series']}={best}, best at {spec['x']}={here:g}, is worse than {rival} at {there:g}"
        found.append(judged(asks, estimated(less, alpha / 2), 0.0, np.inf, float(np.mean(less))))
    return found


def _model(spec: Spec, _rows: Sequence[Row], _alpha: float) -> list[Answer]:
    if spec["function"] not in models.CHECKS:
        raise unknown("model", spec["function"], models.CHECKS)
    measured, holds, why = models.CHECKS[spec["function"]](spec)
    return [Answer(_title(spec), measured, measured, measured, holds, why)]


KINDS: dict[str, Callable[[Spec, Sequence[Row], float], list[Answer]]] = {
    "value": _value,
    "at_least": _at_least,
    "at_most": _at_most,
    "equal": _equal,
    "order": _order,
    "ratio": _ratio,
    "trend": _trend,
    "steeper": _steeper,
    "crossing": _crossing,
    "cheaper": _cheaper,
    "peak": _peak,
    "like": _like,
    "bounds": _bounds,
    "spread": _spread,
    "jump": _jump,
    "no_best": _no_best,
    "model": _model,
}


# ---- words


def _title(spec: Spec) -> str:
    if "asks" in spec:
        return str(spec["asks"])
    metric = spec.get("metric", "")
    kind = spec["kind"]
    if kind in ("order", "equal", "ratio", "steeper", "cheaper"):
        a, b = (spec["above"], spec["below"]) if kind == "order" else (spec["of"], spec["to"])
        return f"{metric} of {_words(a)} {_BETWEEN[kind]} {_words(b)}"
    if kind == "like":
        return f"{metric} of {_words(spec['where'])} follows {spec['x']} like a {spec['like']}"
    if kind == "trend":
        return f"{metric} of {_words(spec['where'])} {spec['direction']} with {spec['x']}"
    if kind == "spread":
        of = spec.get("each", "seed")
        of = f"each {of} with one {spec['by']}" if "by" in spec else f"{spec['block']} seeds"
        return f"{metric} of {_words(spec['where'])}: best less worst of {of}"
    return f"{metric} of {_words(spec.get('where', {}))}"


_BETWEEN = {
    "order": "above that of",
    "equal": "minus that of",
    "ratio": "over that of",
    "steeper": "changes more than",
    "cheaper": "below that of",
}


def _words(where: Spec) -> str:
    """What a check looks at, for people: `gossip, p=0.5 or 0.7`."""

    def told(value: Any) -> str:
        return " or ".join(map(str, value)) if isinstance(value, list) else str(value)

    said = (told(v) if k in ("label", "protocol") else f"{k}={told(v)}" for k, v in where.items())
    return ", ".join(said) or "all runs"
