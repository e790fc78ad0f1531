"""Roam: floods thinly, carries what is valid, and repairs by comparing summaries.

protocol.py  Roam: what a node does
held.py      HeldEvents: the events that a node carries, and summaries of their ids
known.py     KnownEvents: the table of these events, and their digests
edge.py      Edge: those near an edge of the window
changes.py   Changes: when events get near their expiry, or expire
trickle.py   Trickle: when a node sends its summary
haste.py     Haste: the shortest validity of known events
lists.py     Lists: summaries, and the lists of ids that follow where they differ
offers.py    Offers: events that neighbours lack, until they are sent
wants.py     Wants: what a node asks for, with little effort
neighbours.py Neighbours: who was heard lately
nearness.py  Nearness: how near a sender is, by its signal
pace.py      Pace: all times, and the parameters
frames.py    the frames: summaries, lists of ids, and events that were missing
"""
