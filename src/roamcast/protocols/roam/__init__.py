"""Roam: floods thinly, carries what is valid, and repairs by comparing summaries.

protocol.py  Roam: what a node does
held.py      HeldEvents: the events that a node carries, and summaries of their ids
changes.py   Changes: when these events get old enough for summaries, too old for them, or expire
trickle.py   Trickle: when a node sends its summary
frames.py    the frames: summaries, lists of ids, and events that were missing
"""
