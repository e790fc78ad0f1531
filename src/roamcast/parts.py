"""Parts that you write yourself: how nodes of a world move, how strong frames arrive, when a node may send; and what
carries the datagrams of a real node.

    from roamcast import Params, Scenario, param
    from roamcast.parts import Leg, Mobility, Stream, walk

A class extends `Mobility`, `Radio` or `Mac`. A scenario names it as `module:Class`, or by the name that an installed
package gives it (entry point groups `roamcast.mobility`, `roamcast.radios` and `roamcast.macs`). The settings of a real
node name a `Medium` in the same way (`roamcast.media`). These names stay stable; docs/how-to/write-a-world.md and
docs/how-to/write-a-medium.md show one class of each kind.
"""

import sys

from librt.random import Random as Random

from roamcast import _docstring
from roamcast.net.air.medium import Medium as Medium
from roamcast.net.air.medium import MediumSettings as MediumSettings
from roamcast.net.air.medium import Sent as Sent
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
    "Medium",
    "MediumSettings",
    "Mobility",
    "Radio",
    "Random",
    "Sent",
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
