"""Epidemic dissemination: floods at once, carries what is valid, and repairs by comparing summaries.

protocol.py  Epidemic: what a node does
held.py      HeldEvents: the events that a node carries, and the summary of their ids
trickle.py   Trickle: when a node sends its summary
frames.py    the frames: summaries, lists of ids, and events that were missing
"""
