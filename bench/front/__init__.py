"""The evidence for roam: `python -m bench.front [pareto] [robust] [ablate] [causes] [--quick] [--write]`.

Every part is a set of campaigns (`rc.campaign`), which are kept in out/front and go on where they were:

  pareto   every protocol in every world: who delivers as much for less air
  robust   one world, and one thing about it that gets worse and worse: roam beside all others
  ablate   roam without each of its ingredients
  causes   two worlds in which roam does not deliver everything, without what may be the cause

worlds.py and unseen.py have the worlds, and pareto.py says what *dominates* means. `--write` puts tables and figures
into docs/explanation/roam.md and roam-tables.md; otherwise they are only printed. `--quick` takes few seeds, to see
whether everything runs.

Seeds below 100 and the worlds in `SEEN` were looked at while roam was made. All tables are made with seeds from 101 on,
and the worlds in unseen.py were written down before roam had run in any of them.
"""
