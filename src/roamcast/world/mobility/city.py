"""City section: nodes drive on the streets of a map, each road at its speed limit (Baehni et al. 2005,
§5.3).

A trip goes to a random crossing, drawn in proportion to the weights of the roads at it (main roads attract more trips),
on the way with the shortest expected time. At a share of the crossings, fixed for a run, there is a light: a node that
passes stops for a time uniform in [0, `stop_max_s`]. At its destination it parks for a time uniform in
[0, `parking_max_s`], then takes the next trip from there. Nodes do not see each other.

Readings:
  R1  roads differ in traffic: by the choice of destinations, as above, or so much that cars use only the main roads
      (`roads`); the paper says no more
  R2  nodes stop sometimes, for red lights, parking and the like: lights and parking, as above
  R3  start: stationary. A node is on a trip (origin, destination), or parks after it, with a probability proportional
      to its expected duration, at a uniformly random moment of it. The paper has predefined starting points but does
      not list them; they and their transient are not reproduced
"""

from __future__ import annotations

from bisect import bisect_right
from math import dist, sqrt
from typing import final

from roamcast.world.mobility.base import Leg, Mobility
from roamcast.world.mobility.legs import end_x, end_y, rest, walk
from roamcast.world.streams import Stream
from roamcast.world.streets import Router, Street, StreetGraph


@final
class Car:
    """The state of a node: it is on `street` with the next bend at `bend`, or (street -1) stands at crossing `at`."""

    __slots__ = ("at", "bend", "goal", "street")

    def __init__(self, at: int, goal: int) -> None:
        self.at = at
        self.goal = goal
        self.street = -1
        self.bend = 0


@final
class CitySection(Mobility):
    def __init__(
        self, graph: StreetGraph, seed: int, stop_share: float, stop_max_s: float, parking_max_s: float
    ) -> None:
        self.graph = graph
        self.stop_max_s = stop_max_s
        self.parking_max_s = parking_max_s
        crossings = len(graph.points)
        self.light = [Stream(seed, k, "light").random() < stop_share for k in range(crossings)]
        stop_s = 0.5 * stop_max_s
        costs_s = [s.length_m / s.speed_mps + (stop_s if self.light[s.v] else 0.0) for s in graph.streets]
        self.router = Router(graph, costs_s)
        self.longest_s = self.router.longest_s() + 0.5 * parking_max_s
        self.weights: list[float] = []  # summed up, to draw crossings from
        total = 0.0
        for k in range(crossings):
            for street in graph.leaving[k]:
                total += graph.streets[street].weight
            self.weights.append(total)
        self.cars: list[Car] = []

    def first(self, node: int, stream: Stream) -> Leg:
        while len(self.cars) <= node:
            self.cars.append(Car(0, 0))
        while True:
            origin = self._crossing(stream)
            goal = self._crossing(stream)
            if origin == goal:
                continue
            self.cars[node] = Car(origin, goal)
            leg = self._leg_at_start(self.cars[node], stream.random() * self.longest_s, stream)
            if leg is not None and leg.end_s > 0.0:
                return leg

    def next(self, node: int, leg: Leg, stream: Stream) -> Leg:
        car = self.cars[node]
        t = leg.end_s
        x = end_x(leg)
        y = end_y(leg)
        if car.street >= 0:
            street = self.graph.streets[car.street]
            on = self._along(car, street, t, x, y)
            if on is not None:
                return on
            car.at = street.v
            car.street = -1
            halt = self._halt(car, t, x, y, stream)
            if halt.end_s > t:
                return halt
        while True:
            while car.at == car.goal:
                car.goal = self._crossing(stream)
            car.street = self.router.to(car.goal).streets[car.at]
            car.bend = 1
            street = self.graph.streets[car.street]
            on = self._along(car, street, t, x, y)
            if on is not None:
                return on
            car.at = street.v  # a street so short that it takes no time

    def _crossing(self, stream: Stream) -> int:
        return bisect_right(self.weights, stream.random() * self.weights[-1])

    def _along(self, car: Car, street: Street, t: float, x: float, y: float) -> Leg | None:
        """To the next bend of the street; None at its end."""
        while car.bend < len(street.shape):
            to_x, to_y = street.shape[car.bend]
            car.bend += 1
            leg = walk(t, x, y, to_x, to_y, street.speed_mps)
            if leg.end_s > t:
                return leg
        return None

    def _halt(self, car: Car, t: float, x: float, y: float, stream: Stream) -> Leg:
        """Parking at the destination or stopping at a light, which may take no time at all."""
        if car.at == car.goal:
            return rest(t, x, y, t + self.parking_max_s * stream.random())
        if self.light[car.at]:
            return rest(t, x, y, t + self.stop_max_s * stream.random())
        return rest(t, x, y, t)

    def _leg_at_start(self, car: Car, moment_s: float, stream: Stream) -> Leg | None:
        """The leg of a car at this moment of its trip, which begins with parking; None if the trip is over by then."""
        if moment_s < 0.5 * self.parking_max_s:
            return self._halt_at_start(car, car.goal, self.parking_max_s, stream)
        moment_s -= 0.5 * self.parking_max_s
        ways = self.router.to(car.goal)
        while car.at != car.goal:
            k = ways.streets[car.at]
            street = self.graph.streets[k]
            drive_s = street.length_m / street.speed_mps
            if moment_s < drive_s:
                car.street = k
                return self._drive_at_start(car, street, moment_s * street.speed_mps)
            moment_s -= drive_s
            car.at = street.v
            if car.at != car.goal and self.light[car.at]:
                if moment_s < 0.5 * self.stop_max_s:
                    return self._halt_at_start(car, car.at, self.stop_max_s, stream)
                moment_s -= 0.5 * self.stop_max_s
        return None

    def _halt_at_start(self, car: Car, at: int, longest_s: float, stream: Stream) -> Leg:
        """At a random time, long halts are more likely (in proportion to length), and a uniform part has passed."""
        car.at = at
        x, y = self.graph.points[at]
        return rest(0.0, x, y, longest_s * sqrt(stream.random()) * (1.0 - stream.random()))

    def _drive_at_start(self, car: Car, street: Street, done_m: float) -> Leg | None:
        """The leg of a car that is `done_m` metres from the start of a street."""
        for k in range(1, len(street.shape)):
            x, y = street.shape[k - 1]
            to_x, to_y = street.shape[k]
            piece_m = dist(street.shape[k - 1], street.shape[k])
            if done_m < piece_m:
                share = done_m / piece_m
                car.bend = k
                return self._along(car, street, 0.0, x + share * (to_x - x), y + share * (to_y - y))
            done_m -= piece_m
        return None
