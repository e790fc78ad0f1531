"""Contacts of nodes that move by a model, at times that are computed rather than polled.

Nodes walk straight legs, so the distance of two nodes is the root of a quadratic in time, and the instants at which it
passes a reach can be solved. A kinetic cell list keeps the number of pairs to solve small: the plane is cut into square
cells that are a little wider than the largest reach, so nodes in contact are in the same or in adjacent cells. A
pair is solved when it can begin to matter: when one of the two starts a leg (with all nodes in the nine cells around)
and when one enters a cell (with all nodes in the three cells that became adjacent). The solutions go to a queue:

    (t, i, turn)        a leg of i is over                (t, i, j)   j begins or ceases to hear i
    (t, i, cross x/y)   i enters the next cell

An instant is put into the queue only if both legs last beyond it, so no entry is ever out of date. Its order is
total, (t, i, what or j), so neither the order of insertion nor the layout of the cells can be seen from outside.

Contact is decided on the closed disc (distance <= reach). After a computed instant the state is the one *just after*
it: two nodes that touch for an instant and part are not in contact, two that stand exactly a reach apart are. Rounding
may put a node a few nanometres on the wrong side of a circle when a leg ends on it: changes within a nanosecond of the
end of a leg are left to the turn that follows. And whenever a pair is solved near its circle, its recorded state is
compared with the solution and corrected, at that same instant. So contacts do not flicker. The margin of the cells is
far wider than rounding, so a node may stand on the wrong side of a cell's edge without being missed.

Cells are folded into a table of fixed size (cell numbers modulo powers of two): coordinates may be negative and
unbounded. Nodes that are far apart can fall into one entry of the table; they are recognised by their distance and
skipped. Cells are no smaller than the mean spacing of nodes, so a tiny reach does not cause absurdly many crossings.
"""

from __future__ import annotations

from math import inf, sqrt
from typing import Final, final

from librt.vecs import vec
from mypy_extensions import i64

from roamcast.errors import InputError
from roamcast.world.contacts.solver import together
from roamcast.world.contacts.walking import END, LEG, LOW, TURN, VX, VY, WalkingNodes, X, Y
from roamcast.world.mobility.base import Leg, Mobility

CROSS_X: Final = 1  # beside TURN, the low half of a key of the queue: what happens to the node in the high half …
CROSS_Y: Final = 2
PEER: Final = 3  # … or PEER + j
ENDS: Final = -1.0  # instead of the time at which a contact ends: it ends now
CELL_MARGIN: Final = (
    1e-6  # how much wider than the reach a cell is: far above rounding, and too little to cost anything
)
NEAR_CIRCLE: Final = 1e-6  # relative to reach²: beyond it rounding cannot have confused inside and outside
INSTANT_S: Final = 1e-9  # changes so near to a leg's end are left to the turn
FAST: Final = 10.0  # reaches a second: beyond that a node goes far in that instant


@final
class KineticContacts(WalkingNodes):
    """Contacts of nodes that move by a model. Node i is heard up to `reaches[i]` metres away.

    Whoever needs contacts only from a certain time on names it: nodes get there without meeting anybody.
    """

    def __init__(self, mobility: Mobility, n: int, seed: int, reaches: list[float], from_s: float = 0.0) -> None:
        super().__init__(mobility, n, seed, from_s)
        if len(reaches) != n:
            raise InputError(f"{len(reaches)} reaches for {n} nodes; each node needs one")
        self.r2 = vec[float]([r * r for r in reaches])
        self.alike = not reaches or min(reaches) == max(reaches)
        reach = max(reaches, default=1.0)
        self.widest_r2 = reach * reach
        self.solved: i64 = 0  # pairs so far: the work is proportional to it
        self.cell, columns, rows = lay_out(self.legs, reach)
        self.mask_x: i64 = columns - 1
        self.mask_y: i64 = rows - 1
        self.shift: i64 = rows.bit_length() - 1
        none = [-1] * n
        self.cx = vec[i64](none)
        self.cy = vec[i64](none)
        self.heads = vec[i64]([-1] * (columns * rows))  # of each cell, a doubly linked list of nodes
        self.after = vec[i64](none)
        self.before = vec[i64](none)
        self.settled = False  # until then nobody observes: contacts of the first instant need not be put in order
        for i in range(n):
            self.enter_first(i, from_s)
        self.settled = True
        self.advance(from_s)

    def enter_first(self, i: i64, t: float) -> None:
        """Node i begins at t, on the leg that it is on; the nodes before it are there already."""
        self.set_out(i)
        self.cx[i] = floor_of(self.x(i, t) / self.cell)
        self.cy[i] = floor_of(self.y(i, t) / self.cell)
        self.meet(i, self.cx[i] - 1, self.cx[i] + 1, self.cy[i] - 1, self.cy[i] + 1, t)
        self.enter(i)
        self.plan_crossing(i, t)

    # ---- time passes

    def advance(self, now: float) -> None:
        queue = self.queue
        while queue.first() <= now:
            queue.pop()
            t = queue.t
            i = queue.key >> 32
            what = queue.key & LOW
            if what >= PEER:
                self.change(t, i, what - PEER, queue.until)
            elif what == TURN:
                self.turn(i, t)
            else:
                self.cross(i, what, t)
        self.next = queue.first()

    def change(self, t: float, i: i64, j: i64, until: float) -> None:
        up = until != ENDS
        if up and until < inf:
            self.queue.push(until, i << 32 | (j + PEER), ENDS)
        self.set_link(t, i, j, up)
        if self.alike:
            self.set_link(t, j, i, up)

    def turn(self, i: i64, t: float) -> None:
        """The leg of i is over; the next one begins."""
        self.walk_on(i, t)
        self.plan_crossing(i, t)
        self.meet(i, self.cx[i] - 1, self.cx[i] + 1, self.cy[i] - 1, self.cy[i] + 1, t)

    # ---- cells

    def plan_crossing(self, i: i64, t: float) -> None:
        """Put into the queue when i, on this leg, leaves its cell."""
        leg = LEG * i
        walked = self.walked
        vx = walked[leg + VX]
        vy = walked[leg + VY]
        soonest = walked[leg + END]
        way: i64 = TURN
        if vx != 0.0:
            edge = self.cx[i] + 1 if vx > 0.0 else self.cx[i]
            when = walked[leg] + (float(edge) * self.cell - walked[leg + X]) / vx
            if when < soonest:
                soonest = when
                way = CROSS_X
        if vy != 0.0:
            edge = self.cy[i] + 1 if vy > 0.0 else self.cy[i]
            when = walked[leg] + (float(edge) * self.cell - walked[leg + Y]) / vy
            if when < soonest:
                soonest = when
                way = CROSS_Y
        if way != TURN:
            if soonest < t:  # by a rounding error it stood beyond the edge
                soonest = t
            self.queue.push(soonest, i << 32 | way, 0.0)

    def cross(self, i: i64, way: i64, t: float) -> None:
        """Node i enters the next cell and meets those in the three cells that became adjacent."""
        self.leave(i)
        cx = self.cx[i]
        cy = self.cy[i]
        if way == CROSS_X:
            step: i64 = 1 if self.walked[LEG * i + VX] > 0.0 else -1
            self.cx[i] = cx + step
            self.meet(i, cx + 2 * step, cx + 2 * step, cy - 1, cy + 1, t)
        else:
            step = 1 if self.walked[LEG * i + VY] > 0.0 else -1
            self.cy[i] = cy + step
            self.meet(i, cx - 1, cx + 1, cy + 2 * step, cy + 2 * step, t)
        self.enter(i)
        self.plan_crossing(i, t)

    def enter(self, i: i64) -> None:
        c = ((self.cx[i] & self.mask_x) << self.shift) | (self.cy[i] & self.mask_y)
        head = self.heads[c]
        self.after[i] = head
        self.before[i] = -1
        if head >= 0:
            self.before[head] = i
        self.heads[c] = i

    def leave(self, i: i64) -> None:
        after = self.after[i]
        before = self.before[i]
        if after >= 0:
            self.before[after] = before
        if before >= 0:
            self.after[before] = after
        else:
            self.heads[((self.cx[i] & self.mask_x) << self.shift) | (self.cy[i] & self.mask_y)] = after

    # ---- pairs

    def meet(self, i: i64, x_from: i64, x_to: i64, y_from: i64, y_to: i64, t: float) -> None:
        """Solve i with all nodes in these cells, from t on."""
        walked = self.walked
        after = self.after
        vx = walked[LEG * i + VX]
        vy = walked[LEG * i + VY]
        x = self.x(i, t)
        y = self.y(i, t)
        end = walked[LEG * i + END]
        adjacent = 2.0 * (1.0 + CELL_MARGIN) * self.cell
        widest = self.widest_r2
        close = widest * (1.0 + NEAR_CIRCLE)
        for kx in range(x_from, x_to + 1):
            for ky in range(y_from, y_to + 1):
                j = self.heads[((kx & self.mask_x) << self.shift) | (ky & self.mask_y)]
                while j >= 0:
                    peer = j
                    j = after[j]
                    # a leg that ends now does not count: its node turns at this instant and meets node i then
                    leg = LEG * peer
                    if peer == i or walked[leg + END] <= t:
                        continue
                    age = t - walked[leg]
                    px = walked[leg + X] + walked[leg + VX] * age - x
                    py = walked[leg + Y] + walked[leg + VY] * age - y
                    if px > adjacent or px < -adjacent or py > adjacent or py < -adjacent:
                        continue  # far apart, in the same entry of the table
                    wx = walked[leg + VX] - vx
                    wy = walked[leg + VY] - vy
                    if px * px + py * py > close:
                        if px * wx + py * wy >= 0.0:
                            continue  # apart, and moving away
                        across = px * wy - py * wx
                        if across * across >= (wx * wx + wy * wy) * widest:
                            continue  # will pass too far away
                    last = end if end < walked[leg + END] else walked[leg + END]
                    if self.alike:
                        if i < peer:
                            self.solve(i, peer, px, py, wx, wy, t, last, widest)
                        else:
                            self.solve(peer, i, px, py, wx, wy, t, last, widest)
                    else:
                        self.solve(i, peer, px, py, wx, wy, t, last, self.r2[i])
                        self.solve(peer, i, px, py, wx, wy, t, last, self.r2[peer])

    def solve(
        self, i: i64, j: i64, px: float, py: float, wx: float, wy: float, t: float, last: float, r2: float
    ) -> None:
        """Plan when j, at p and moving with w relative to i (or i relative to j), next begins or ceases to hear i."""
        self.solved += 1
        begin, end = together(px, py, wx, wy, r2)
        begin += t
        end += t
        rounding_s = INSTANT_S if wx * wx + wy * wy <= FAST * FAST * r2 else 0.0
        soon = t + rounding_s
        last -= rounding_s
        inside = begin <= soon < end
        c = px * px + py * py - r2
        known = c <= NEAR_CIRCLE * r2 and self.hearers.holds(i, j)
        key = i << 32 | (j + PEER)
        if inside != known:
            until = (end if end < last else inf) if inside else ENDS
            if self.settled:
                self.queue.push(t, key, until)
            else:
                self.change(t, i, j, until)
        elif inside and end < last:
            self.queue.push(end, key, ENDS)
        if not inside and soon < begin < last:
            self.queue.push(begin, key, end if end < last else inf)


def floor_of(x: float) -> i64:
    whole = i64(x)
    return whole - 1 if x < float(whole) else whole


def lay_out(legs: list[Leg], reach: float) -> tuple[float, int, int]:
    """Edge of a cell (m), and columns and rows of the table that cells are folded into, both powers of two."""
    n = max(len(legs), 1)
    width = spread([leg.x for leg in legs], [leg_stop(leg.x, leg.vx, leg) for leg in legs])
    height = spread([leg.y for leg in legs], [leg_stop(leg.y, leg.vy, leg) for leg in legs])
    spacing = max(sqrt(width * height / n), width / n, height / n)
    cell = max(reach * (1.0 + CELL_MARGIN), spacing, 1e-9)
    return cell, fold(width / cell, n), fold(height / cell, n)


def leg_stop(from_m: float, velocity: float, leg: Leg) -> float:
    return from_m + velocity * (leg.end_s - leg.start_s) if velocity != 0.0 and leg.end_s < inf else from_m


def spread(starts: list[float], stops: list[float]) -> float:
    """How far nodes spread: twice the distance of the quartiles, so that single outliers do not matter."""
    values = sorted(starts + stops)
    k = len(values) // 4
    return 2.0 * (values[len(values) - 1 - k] - values[k]) if values else 0.0


def fold(cells: float, n: int) -> int:
    """A power of two that is enough for the present spread of nodes, and for a wider one later."""
    size = 4
    while size < cells + 3.0 or size * size < n:
        size *= 2
    return size
