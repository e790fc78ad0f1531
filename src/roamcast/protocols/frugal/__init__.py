"""Frugal event dissemination (Baehni et al.).

protocol.py     Frugal: the procedures of the paper's Figs. 4 to 10, and the readings
params.py       the parameters
delays.py       how delays are computed (Fig. 8), and tasks whose delay changes while they wait
sending.py      how events become frames (Fig. 9)
neighbors.py    the neighbourhood table: what each neighbour wants, and which events it has
event_table.py  the table of stored events, and which of them is collected first
frames.py       heartbeats, lists of ids, and events
"""
