"""Parts of a world that you write yourself: how nodes move, how strong frames arrive, when a node may send.

    from roamcast import Params, Scenario, param
    from roamcast.parts import Leg, Mobility, Stream, walk

A class extends `Mobility`, `Radio` or `Mac`. A scenario names it as `module:Class`, or by the name that an installed
package gives it (entry point groups `roamcast.mobility`, `roamcast.radios` and `roamcast.macs`). These names stay
stable; docs/how-to/write-a-world.md shows one class of each kind.
"""

import sys

from librt.random import Random as Random

from roamcast import _docstring
from roamcast.world.mac.dcf import DSSS as DSSS
from roamcast.world.mac.outside import Mac as Mac
from roamcast.world.mobility.base import Leg as Leg
from roamcast.world.mobility.base import Mobility as Mobility
from roamcast.world.mobility.legs import end_x as end_x
from roamcast.world.mobility.legs import end_y as end_y
from roamcast.world.mobility.legs import rest as rest
from roamcast.world.mobility.legs import walk as walk
from roamcast.world.radio.outside import Radio as Radio
from roamcast.world.specs import Timing as Timing
from roamcast.world.streams import Stream as Stream

__all__ = [
    "DSSS",
    "Leg",
    "Mac",
    "Mobility",
    "Radio",
    "Random",
    "Stream",
    "Timing",
    "end_x",
    "end_y",
    "rest",
    "walk",
]

for _class in (Leg, Mac, Mobility, Radio, Stream):
    if not _class.__doc__:  # compiled classes have lost theirs
        _class.__doc__ = _docstring(sys.modules[_class.__module__], _class.__name__)
