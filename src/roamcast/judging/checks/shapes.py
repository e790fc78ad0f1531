"""The shape of a curve: peak, like, jump."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from roamcast.errors import NoData
from roamcast.judging.answers import Answer, estimated, jackknife, judged
from roamcast.judging.checks.curves import over
from roamcast.judging.runs import Spec, common_seeds, curve, mean, paired, selected
from roamcast.judging.words import question
from roamcast.log.metric import Row

SHAPES: dict[str, Callable[[float], float]] = {"line": lambda x: x, "log": np.log}


def peak(spec: Spec, rows: Sequence[Row], alpha: float) -> list[Answer]:
    """The highest inner point is chosen after the runs, so each inner point counts as a question."""
    points = curve(selected(rows, spec["where"]), spec["x"], spec["metric"])
    first, *inside, last = points
    if not inside:
        raise NoData(f"{spec['x']} has no value between its first and last")
    top = max(inside, key=lambda at: mean(points[at]))
    answers = []
    for end in (first, last):
        more = paired(points[top], points[end])
        question_text = f"{question(spec)}: more at {spec['x']}={top:g} than at {end:g}"
        answers.append(
            judged(question_text, estimated(more, alpha / 2 / len(inside)), 0.0, np.inf, float(np.mean(more)))
        )
    return answers


def like(spec: Spec, rows: Sequence[Row], alpha: float) -> list[Answer]:
    """How much more of the metric's variation a straight line over f(x) explains than one over the other f(x)."""
    points = curve(selected(rows, spec["where"]), spec["x"], spec["metric"])
    if len(points) < 3:
        raise NoData(f"{spec['x']} has fewer than three values")
    (other,) = SHAPES.keys() - {spec["like"]}

    def more(seeds: list[int]) -> float:
        ys = [over(by_seed, seeds) for by_seed in points.values()]
        right, wrong = (np.corrcoef([SHAPES[name](x) for x in points], ys)[0, 1] ** 2 for name in (spec["like"], other))
        return float(right - wrong)

    seeds = common_seeds(points.values())
    return [judged(question(spec), jackknife(more, seeds, alpha), 0.0, np.inf, more(seeds))]


def jump(spec: Spec, rows: Sequence[Row], alpha: float) -> list[Answer]:
    """The largest share of the whole change that happens within a part `within` of the axis."""
    points = curve(selected(rows, spec["where"]), spec["x"], spec["metric"])
    xs = list(points)
    seeds = sorted(set.intersection(*(set(by_seed) for by_seed in points.values())))
    part = float(spec["within"]) * (xs[-1] - xs[0])

    def share(seeds: list[int]) -> float:
        ys = [over(points[x], seeds) for x in xs]
        whole = max(ys) - min(ys)
        steps = [ys[j] - ys[i] for i in range(len(xs)) for j in range(i + 1, len(xs)) if xs[j] - xs[i] <= part + 1e-9]
        return max(map(abs, steps), default=0.0) / whole if whole else 0.0

    return [judged(question(spec), jackknife(share, seeds, alpha), float(spec["share"]), np.inf, share(seeds))]
