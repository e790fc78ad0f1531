"""What systems share. Nothing here knows any of them.

interface.py      Protocol, Host, Frame, Params: what a protocol may rely on and what it promises; reasons
wire.py           the encoding of frames, and checks of received values
parameters.py     parameters from what people type
frames.py         EventFrame: one event on its way
subscriptions.py  Subscriptions: the filters of the application on a node
seen.py           Seen: the ids of events that were seen, with a bound
trickle.py        TrickleTimer: when to send what neighbours may have as well
relay.py          Relay: the base of protocols that forward an event once or not at all
tree.py           a node's place in a tree, without loops; heartbeats, and which neighbour to trust
"""
