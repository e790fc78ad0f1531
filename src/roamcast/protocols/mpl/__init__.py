"""MPL, the Multicast Protocol for Low-Power and Lossy Networks (RFC 7731), which Trickle timers pace (RFC 6206).

protocol.py  Mpl: what a node does
sets.py      InformationBase: the Seed Set and the Buffered Message Set
frames.py    the frames: data messages and control messages
"""
