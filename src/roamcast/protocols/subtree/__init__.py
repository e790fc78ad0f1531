"""Subscription tree: one tree over the whole network (Li et al. §4.1; Baldoni et al. §II).

protocol.py   SubTree: the tree, the way of events through it, and the readings
links.py      what each tree neighbour wants, and what it was sent of what others want
interests.py  which of these filters are worth sending
kin.py        which filters cover which, found out once for each pair
frames.py     heartbeats, requests to join, and subscriptions
"""
