"""Contacts that are looked for when they are needed.

Where nodes move fast and few frames are sent, or where nodes are many and most of them send nothing, contacts begin and
end more often than anybody asks for them. Then it costs less to look around when a node sends than to foresee every
change (kinetic.py). Both find the same nodes at every instant at which a frame can start: those on the closed disc.
(They round differently. That could be seen only by a frame that starts within some 1e-13 s of a change, or where two
nodes keep exactly a reach between them while both move, which models of random movement do not do.)

Looking takes two steps. Now and then all nodes are seen: where each of them is, sorted into cells that are a little
wider than the largest reach. Until somebody can have gone farther than `drift_m` since then, as in simulations of
molecules (Verlet 1967), a node looks for others in the cells around it. Only of those that the fastest node's way since
then could have taken in or out of reach it works out where they are now.
"""

from __future__ import annotations

from math import sqrt
from typing import Final, final

from librt.vecs import vec
from mypy_extensions import i64

from roamcast.world.contacts.walking import LEG, VX, VY, WalkingNodes, X, Y
from roamcast.world.mobility.base import Leg, Mobility

BEYOND: Final = 0.05  # of the largest reach: with more, nodes are seen less often, and more candidates are no hearers
CLOSE_M: Final = 1e-3  # far above rounding, and above jumps between legs
FEW_NODES: Final = 128  # so few are all looked at, in the order of their numbers
FEW_CELLS: Final = 3  # a side with no more than these has one: looking at all nodes saves putting them in order


@final
class SoughtContacts(WalkingNodes):
    """Node i is heard up to `reaches[i]` metres away. There are no rows of hearers, and nobody observes links."""

    def __init__(self, mobility: Mobility, n: int, seed: int, reaches: list[float]) -> None:
        super().__init__(mobility, n, seed, 0.0)
        self.reaches = vec[float](reaches)
        self.drift_m = BEYOND * max(reaches, default=1.0)
        self.cell_m = (1.0 + BEYOND) * max(reaches, default=1.0) + CLOSE_M
        self.fastest = 0.0  # the speed of the fastest leg so far, m/s
        # what was seen: where all nodes were at `seen_at`, cell by cell and column by column
        self.seen_at = 0.0
        self.numbers = vec[i64](range(n))
        self.xs = vec[float]([0.0] * n)
        self.ys = vec[float]([0.0] * n)
        self.firsts = vec[i64]([0, n])  # where each cell begins
        # room to put them in order: in a large world, new memory each time would take longer than that
        self.xs_unsorted = self.xs[:]
        self.ys_unsorted = self.ys[:]
        self.cell_of = self.numbers[:]
        self.columns: i64 = 1
        self.rows: i64 = 1
        self.left = 0.0
        self.bottom = 0.0
        self.per_m_x = 0.0  # columns …
        self.per_m_y = 0.0  # … and rows in a metre
        self.close = vec[i64]([0] * (n + 1))  # one more, because a node that is too far away is noted and not counted
        self.in_reach = vec[i64]([0] * n)  # what was found last, …
        self.squares_in_reach = vec[float]([0.0] * n)  # … and the squares of the distances, if they were measured
        for i in range(n):
            self.set_out(i)
        self.advance(0.0)
        self.see(0.0)

    def walk(self, i: i64, leg: Leg) -> None:
        super().walk(i, leg)
        speed = self.speed(i)
        if speed > self.fastest:
            self.fastest = speed

    # ---- one node looks around

    def around(self, i: i64, now: float) -> vec[i64]:
        return self.in_reach[: self.look(i, now)]

    def look(self, i: i64, now: float) -> i64:
        """Find the nodes that hear i: the first of `in_reach`, in order. Returns how many they are."""
        distance = self.reaches[i]
        drift = self.drift_until(now)
        x = self.x(i, now)
        y = self.y(i, now)
        candidates = self.look_through(x, y, distance + drift + CLOSE_M)
        sure = max(distance - drift - CLOSE_M, 0.0)
        sure2 = sure * sure
        square = distance * distance
        numbers = self.numbers
        xs = self.xs
        ys = self.ys
        close = self.close
        in_reach = self.in_reach
        count: i64 = 0
        for c in range(candidates):
            k = close[c]
            j = numbers[k]
            dx = xs[k] - x
            dy = ys[k] - y
            if (dx * dx + dy * dy > sure2 and self.from_place(x, y, j, now) > square) or j == i:
                continue
            at = count
            while at > 0 and in_reach[at - 1] > j:
                in_reach[at] = in_reach[at - 1]
                at -= 1
            in_reach[at] = j
            count += 1
        return count

    def measure(self, i: i64, now: float, distance: float) -> i64:
        """Find the nodes up to this distance from i as `look` does, and the squares of their distances: the first of
        `squares_in_reach`."""
        drift = self.drift_until(now)
        x = self.x(i, now)
        y = self.y(i, now)
        candidates = self.look_through(x, y, distance + drift + CLOSE_M)
        square = distance * distance
        numbers = self.numbers
        walked = self.walked
        close = self.close
        in_reach = self.in_reach
        squares = self.squares_in_reach
        count: i64 = 0
        for c in range(candidates):
            j = numbers[close[c]]
            leg = LEG * j
            age = now - walked[leg]
            dx = walked[leg + X] + walked[leg + VX] * age - x
            dy = walked[leg + Y] + walked[leg + VY] * age - y
            away = dx * dx + dy * dy
            if away > square or j == i:
                continue
            at = count
            while at > 0 and in_reach[at - 1] > j:
                in_reach[at] = in_reach[at - 1]
                squares[at] = squares[at - 1]
                at -= 1
            in_reach[at] = j
            squares[at] = away
            count += 1
        return count

    def drift_until(self, now: float) -> float:
        """How far a node can be from where it was seen; all are seen again if that is too far."""
        drift = (now - self.seen_at) * self.fastest
        if drift > self.drift_m:
            self.see(now)
            drift = 0.0
        return drift

    def look_through(self, x: float, y: float, near: float) -> i64:
        """Find the nodes that were seen up to this distance from (x, y): their places among all that were seen are the
        first of `close`. Returns how many they are."""
        near2 = near * near
        xs = self.xs
        ys = self.ys
        close = self.close
        column = place_of(x - near - self.left, self.per_m_x, self.columns) * self.rows
        last_column = place_of(x + near - self.left, self.per_m_x, self.columns) * self.rows
        low = place_of(y - near - self.bottom, self.per_m_y, self.rows)
        high = place_of(y + near - self.bottom, self.per_m_y, self.rows) + 1
        count: i64 = 0
        while column <= last_column:
            for k in range(self.firsts[column + low], self.firsts[column + high]):
                dx = xs[k] - x
                dy = ys[k] - y
                close[count] = k
                count += i64(dx * dx + dy * dy <= near2)  # without a branch, which the processor could not predict
            column += self.rows
        return count

    def from_place(self, x: float, y: float, j: i64, now: float) -> float:
        """The square of the distance of node j from (x, y)."""
        dx = self.x(j, now) - x
        dy = self.y(j, now) - y
        return dx * dx + dy * dy

    # ---- all nodes are seen

    def see(self, now: float) -> None:
        """Note where all nodes are."""
        n = i64(len(self.xs))
        few = n <= FEW_NODES
        xs = self.xs if few else self.xs_unsorted
        ys = self.ys if few else self.ys_unsorted
        self.locate(xs, ys, now)
        self.seen_at = now
        if not few:
            self.lay_out(xs, ys)
            self.sort_into_cells(xs, ys)

    def lay_out(self, xs: vec[float], ys: vec[float]) -> None:
        """Cells that cover all these places, and are not many more than the nodes."""
        n = float(len(xs))
        self.left, width = extent(xs)
        self.bottom, height = extent(ys)
        cell = max(self.cell_m, sqrt(width * height / n) if n > 0.0 else 0.0, width / max(n, 1.0), height / max(n, 1.0))
        self.columns = cells_along(width, cell)
        self.rows = cells_along(height, cell)
        self.per_m_x = float(self.columns) / width if self.columns > 1 else 0.0
        self.per_m_y = float(self.rows) / height if self.rows > 1 else 0.0

    def sort_into_cells(self, x_now: vec[float], y_now: vec[float]) -> None:
        """By counting. Nodes in one cell are in the order of their numbers."""
        cells = self.columns * self.rows
        firsts = vec[i64]([0] * int(cells + 2))
        cell_of = self.cell_of
        for i in range(i64(len(x_now))):
            cell = place_of(x_now[i] - self.left, self.per_m_x, self.columns) * self.rows
            cell += place_of(y_now[i] - self.bottom, self.per_m_y, self.rows)
            cell_of[i] = cell
            firsts[cell + 2] += 1
        for cell in range(1, cells + 1):
            firsts[cell + 1] += firsts[cell]
        for i in range(i64(len(x_now))):  # where the next node of a cell goes is one entry behind
            at = firsts[cell_of[i] + 1]
            firsts[cell_of[i] + 1] = at + 1
            self.numbers[at] = i
            self.xs[at] = x_now[i]
            self.ys[at] = y_now[i]
        self.firsts = firsts


def extent(values: vec[float]) -> tuple[float, float]:
    """The least value, and how far the others spread from it."""
    if len(values) == 0:
        return 0.0, 0.0
    least = values[0]
    most = least
    for value in values:
        if value < least:
            least = value
        if value > most:
            most = value
    return least, most - least


def cells_along(length: float, cell: float) -> i64:
    cells = i64(length / cell)
    return cells if cells > FEW_CELLS else 1


def place_of(far: float, per_m: float, cells: i64) -> i64:
    """The column (or row) of a place so far from the edge; beyond the edge it is the outermost one."""
    place = far * per_m
    if place <= 0.0:
        return 0
    return i64(place) if place < float(cells) else cells - 1
