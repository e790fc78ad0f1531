"""Along an axis: trend, steeper, crossing, cheaper."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

import numpy as np

from roamcast.errors import NoData
from roamcast.judging.answers import ABOVE, Answer, estimated, jackknife, judged, unanswered
from roamcast.judging.checks.levels import slack
from roamcast.judging.runs import Samples, Spec, common_seeds, curve, mean, paired, samples, selected
from roamcast.judging.words import described, question
from roamcast.log.metric import Row


def trend(spec: Spec, rows: Sequence[Row], alpha: float) -> list[Answer]:
    changes = _change(selected(rows, spec["where"]), spec["x"], spec["metric"])
    level = mean(samples(selected(rows, spec["where"]), spec["metric"])) if "rel" in spec else 0.0
    tolerance = float(spec["rel"]) * abs(level) if "rel" in spec else float(spec.get("abs", 0.0))
    allowed = {"rises": (tolerance, np.inf), "falls": (-np.inf, -tolerance), "flat": (-tolerance, tolerance)}
    low, high = allowed[spec["direction"]]
    question_text = question(spec)
    if spec["direction"] != "flat":
        return [judged(question_text, estimated(changes.values(), alpha), low, high, mean(changes))]
    points = _from_mean(rows, spec)
    alpha /= 1 + len(points)
    whole = judged(question_text, estimated(changes.values(), alpha), low, high, mean(changes))
    return [whole] + [
        judged(
            f"{question_text}: {spec['x']}={at:g} less the mean", estimated(off.values(), alpha), low, high, mean(off)
        )
        for at, off in points.items()
    ]


def _change(rows: Sequence[Row], x: str, metric: str) -> Samples:
    """How much a metric changes over the axis, by seed: the slope of the line through its points, times the axis."""
    points = curve(rows, x, metric)
    if len(points) < 2:
        raise NoData(f"{x} has one value only")
    seeds = common_seeds(points.values())
    places = np.arange(len(points)) / (len(points) - 1)  # by rank: axes are often not linear
    return {seed: float(np.polyfit(places, [points[at][seed] for at in points], 1)[0]) for seed in seeds}


def _from_mean(rows: Sequence[Row], spec: Spec) -> dict[float, Samples]:
    """How far each point of a curve is from the mean of all, by seed: a curve that rises and falls again has no
    slope."""
    points = curve(selected(rows, spec["where"]), spec["x"], spec["metric"])
    seeds = common_seeds(points.values())
    means = {seed: float(np.mean([by_seed[seed] for by_seed in points.values()])) for seed in seeds}
    return {at: {seed: by_seed[seed] - means[seed] for seed in seeds} for at, by_seed in points.items()}


def steeper(spec: Spec, rows: Sequence[Row], alpha: float) -> list[Answer]:
    a, b = (_change(selected(rows, spec[side]), spec["x"], spec["metric"]) for side in ("of", "to"))
    more = paired(a, b)
    if spec["direction"] == "falls":
        more = [-difference for difference in more]
    return [judged(question(spec), estimated(more, alpha), ABOVE, np.inf, float(np.mean(more)))]


def crossing(spec: Spec, rows: Sequence[Row], alpha: float) -> list[Answer]:
    """The metric at the point of a curve where `reach` has its value, by straight lines between points."""
    chosen = selected(rows, spec["where"])
    reach: Spec = spec["reach"]
    on, of = (curve(chosen, spec["x"], metric) for metric in (reach["metric"], spec["metric"]))
    common = [set(on[at]) & set(of[at]) for at in on if at in of]
    seeds = sorted(set.intersection(*common)) if common else []
    wanted, tolerance = float(spec["value"]), slack(spec)
    question_text = question(spec)

    def there(seeds: list[int]) -> float:
        xs = [over(on[at], seeds) for at in on]
        ys = [over(of[at], seeds) for at in on]
        return _interpolated(xs, ys, float(reach["value"]))

    if not seeds or not isfinite(there(seeds)):
        return [unanswered(question_text, f"{reach['metric']} never is {reach['value']}")]
    estimate = jackknife(there, seeds, alpha)
    if estimate is not None and not all(map(isfinite, estimate[:3])):
        return [Answer(question_text, there(seeds), None, None, None, "some seeds never reach it")]
    most = np.inf if spec.get("side") == "at_least" else wanted + tolerance
    return [judged(question_text, estimate, wanted - tolerance, most, there(seeds))]


def _interpolated(xs: list[float], ys: list[float], at: float) -> float:
    """y where x first has a value; x need not rise."""
    for (x0, y0), (x1, y1) in zip(zip(xs, ys, strict=True), zip(xs[1:], ys[1:], strict=True), strict=False):
        if min(x0, x1) <= at <= max(x0, x1):
            return y0 if x0 == x1 else y0 + (y1 - y0) * (at - x0) / (x1 - x0)
    return np.nan


def cheaper(spec: Spec, rows: Sequence[Row], alpha: float) -> list[Answer]:
    """Both curves are straight lines between means; where the other curve never reaches the value, there is no
    answer."""
    mine, other = selected(rows, spec["of"]), selected(rows, spec["to"])
    (at, cost), (at_to, cost_to) = (
        tuple(curve(chosen, x, metric) for metric in (spec["at"], spec["metric"]))
        for chosen, x in ((mine, spec["x"]), (other, spec["to_x"]))
    )
    seeds = common_seeds([*at.values(), *cost.values(), *at_to.values(), *cost_to.values()])

    def saved(x: float, seeds: list[int]) -> float:
        xs, ys = ([over(by_seed, seeds) for by_seed in points.values()] for points in (at_to, cost_to))
        return _interpolated(xs, ys, over(at[x], seeds)) - over(cost[x], seeds)

    answers = []
    for x in at:
        question_text = f"{question(spec)} at {spec['x']}={x:g}"
        estimate = jackknife(lambda seeds, x=x: saved(x, seeds), seeds, alpha / len(at))  # type: ignore[misc]
        if not isfinite(saved(x, seeds)) or (estimate is not None and not all(map(isfinite, estimate[:3]))):
            answers.append(unanswered(question_text, f"{described(spec['to'])} never has this {spec['at']}"))
        else:
            answers.append(judged(question_text, estimate, 0.0, np.inf, saved(x, seeds)))
    return answers


def over(by_seed: Samples, seeds: list[int]) -> float:
    """The mean over these seeds."""
    return float(np.mean([by_seed[seed] for seed in seeds]))
