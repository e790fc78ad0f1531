"""Which nodes are trusted: group keys, a node's own key and number, and the seals of events. No clock, no socket.

keys.py        GroupKey, KeyRing: the group's keys and their file
identity.py    Identity: a node's own key; Roster: the numbers and keys of the nodes that may publish
membership.py  Membership: everything that a node needs to take part; numbers that are never used twice
positions.py   how far a sender has got, signed: so that no other node can silence it
rekeying.py    a new group key over the air: boxes for members, and the steps of a rotation
seals.py       seal, unsealed, Verifier: events signed by their publisher
"""
