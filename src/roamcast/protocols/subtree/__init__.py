"""Subscription tree: one tree over the whole network (Li et al. §4.1; Baldoni et al. §II).

protocol.py      SubTree: the tree, the way of events through it, and the readings
tree_links.py    what each tree neighbour wants, and what was advertised to it
filter_table.py  the filters that are wanted, and which of them to advertise
cover_table.py   which filters cover which, computed once for each pair
frames.py        heartbeats, requests to join, and subscriptions
"""
