"""Roam: floods thinly, carries what is valid, and repairs by comparing summaries.

protocol.py  Roam: what a node does
held.py      HeldEvents: the events that a node carries, and summaries of their ids
known.py     KnownEvents: the table of these events, and their digests
edge.py      Edge: those near an edge of the window
changes.py   Changes: when events get too old for summaries, or expire
trickle.py   Trickle: when a node sends its summary
frames.py    the frames: summaries, lists of ids, and events that were missing
"""
