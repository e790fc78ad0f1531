from roamcast.api.campaigns import campaign as campaign
from roamcast.api.logs import open as open
from roamcast.api.nodes import Node as Node
from roamcast.api.nodes import connect as connect
from roamcast.api.simulation import Simulation as Simulation
from roamcast.api.simulation import preset as preset
from roamcast.api.simulation import simulate as simulate
from roamcast.api.studies import compare as compare
from roamcast.api.studies import sweep as sweep
from roamcast.api.study import Study as Study
from roamcast.errors import InputError as InputError
from roamcast.errors import RoamcastError as RoamcastError
from roamcast.protocols.kit.frames import EventFrame as EventFrame
from roamcast.protocols.kit.interface import Frame as Frame
from roamcast.protocols.kit.interface import Host as Host
from roamcast.protocols.kit.interface import Params as Params
from roamcast.protocols.kit.interface import Protocol as Protocol
from roamcast.protocols.kit.interface import param as param
from roamcast.protocols.kit.interface import reason as reason
from roamcast.pubsub.event import Event as Event
from roamcast.pubsub.event import event_id as event_id
from roamcast.pubsub.filters import Filter as Filter
from roamcast.pubsub.text import parse_subscription as parse_subscription
from roamcast.world.scenario import Scenario as Scenario

__version__: str

def _docstring(module: object, name: str) -> str: ...
