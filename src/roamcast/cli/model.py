"""`roamcast model`: the papers' stochastic models, solved, drawn and compared with simulated movement."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from roamcast.cli import examples
from roamcast.cli.help import HELP, Verbs
from roamcast.cli.options import check_picture
from roamcast.errors import InputError, error_text
from roamcast.extras import need

app = typer.Typer(
    cls=Verbs,
    context_settings=HELP,
    epilog=examples.text("roamcast model"),
    no_args_is_help=True,
    add_completion=False,
    help="The papers' stochastic models.",
)

# Okabe and Ito's palette, and a marker for each speed, so that the curves can be distinguished in any print.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = "os^Dv<>"


@app.callback()
def models() -> None:
    """The papers' stochastic models."""


@app.command()
def distance(
    A: Annotated[
        int, typer.Option("-A", "--A", max=200, help="Half the side of the torus, in grid points (Fig. 9: 20).")
    ] = 20,
    L: Annotated[int, typer.Option("-L", "--L", help="Radio range, in grid points (Fig. 9: 10).")] = 10,
    speeds: Annotated[
        str, typer.Option(help="Relative speeds along an axis, in points per tick, with commas between them.")
    ] = "0.1,0.2,0.3,0.5",
    alpha: Annotated[
        float | None, typer.Option(help="Probability of standing still again; with --beta, instead of --speeds.")
    ] = None,
    beta: Annotated[float | None, typer.Option(help="Probability of moving on; with --alpha.")] = None,
    steps: Annotated[int, typer.Option(min=1, max=100_000, help="Ticks after the link broke.")] = 60,
    as_printed: Annotated[
        bool, typer.Option("--as-printed", help="The sum as printed: not divided by the remaining walks.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
    figure: Annotated[Path | None, typer.Option(help="Draw the curves into this file (.svg, .png or .pdf).")] = None,
    measured: Annotated[
        bool, typer.Option("--measured", help="Also measure the simulated movement of the paper's scenario.")
    ] = False,
) -> None:
    """Expected distance against the time since the last contact (Baldoni et al. 2005, Fig. 9)."""
    if figure is not None:
        need("--figure", "matplotlib", "numpy")
    curves = [_curve(A, L, a, b, steps, not as_printed) for a, b in _walks(speeds, alpha, beta)]
    result: dict[str, Any] = {"A": A, "L": L, "steps": steps, "normalised": not as_printed, "curves": curves}
    if measured:
        from roamcast.show.distance import movement

        result["measured"] = movement()
    if figure is not None:
        _draw(result, figure)
    typer.echo(json.dumps(result) if as_json else _table(result))


def _speeds(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"speeds={text}: must be numbers between 0 and 1 with commas between them") from None


def _walks(speeds: str, alpha: float | None, beta: float | None) -> list[tuple[float, float]]:
    """(alpha, beta) of each curve."""
    from roamcast.papers import distance_model as model

    if (alpha is None) != (beta is None):
        raise InputError("alpha and beta: must be given both or not at all")
    if alpha is not None and beta is not None:
        return [(alpha, beta)]
    return [model.alpha_beta_for_speed(s) for s in _speeds(speeds)]


def _curve(A: int, L: int, alpha: float, beta: float, steps: int, normalised: bool) -> dict[str, Any]:
    from roamcast.papers import distance_model as model

    expected = model.curve(A, L, alpha, beta, steps, normalised)
    s = round(model.speed(alpha, beta), 9)
    return {"speed": s, "alpha": alpha, "beta": beta, "distance": [round(d, 6) for d in expected]}


def _table(result: dict[str, Any]) -> str:
    every = max(1, result["steps"] // 12)
    ticks = range(0, result["steps"] + 1, every)
    rows = ["E[D(k)], grid points", "     k " + "".join(f"  s={c['speed']:<6g}" for c in result["curves"])]
    rows += [f"{k:6d} " + "".join(f"{c['distance'][k]:9.2f} " for c in result["curves"]) for k in ticks]
    if "measured" in result:
        seen = result["measured"]
        rows += ["", f"measured: {seen['mobility']}", "elapsed [s]  distance [m]     pairs"]
        rows += [
            f"{t:11g}  {d:12.1f}  {n:8d}"
            for t, d, n in zip(seen["elapsed_s"], seen["distance_m"], seen["pairs"], strict=True)
            if t % 5 == 0
        ]
    return "\n".join(rows)


def _draw(result: dict[str, Any], path: Path) -> None:
    import matplotlib

    check_picture("--figure", path)
    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "roamcast"  # the same curves give the same file
    from matplotlib.figure import Figure

    panels = 2 if "measured" in result else 1
    drawing = Figure(figsize=(5.5 * panels, 4), layout="constrained")
    axes = drawing.subplots(1, panels, squeeze=False)[0]
    for i, c in enumerate(result["curves"]):
        look = {"color": COLOURS[i % len(COLOURS)], "marker": MARKERS[i % len(MARKERS)], "markevery": 0.1}
        axes[0].plot(c["distance"], label=f"s = {c['speed']:g}", markersize=4, **look)
    axes[0].set(xlabel="ticks since the link broke", ylabel="expected distance [grid points]")
    axes[0].set_title(f"model, A = {result['A']}, L = {result['L']}")
    axes[0].legend()
    if panels == 2:
        seen = result["measured"]
        axes[1].plot(seen["elapsed_s"], seen["distance_m"], color=COLOURS[0])
        axes[1].set(
            xlabel="time since last contact [s]", ylabel="mean distance [m]", title="measured in simulated movement"
        )
    try:
        drawing.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    except OSError as error:
        raise InputError(f"--figure {path}: cannot be written ({error_text(error)})") from None
