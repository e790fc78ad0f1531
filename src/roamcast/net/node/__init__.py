"""Publish/subscribe for applications.

node.py              Node: the whole node, for applications
subscription.py      Subscription: an asynchronous iterator over events
subscribers.py       Subscribers: the subscriptions that applications hold now
publishing.py        Publishing: stores own events, then gives them to the protocol, at a pace that the queue can take
offering.py          Offering: gives the protocol again what it dropped for want of room
publication_keys.py  PublicationKeys: which publications a program may ask for again
rekeying.py          Rekeying: takes part in rotations of the group's key over the air, and conducts them
gps.py               Gpsd: speed from a receiver of satellite navigation
supervision.py       supervised: work in the background that is tried again if it fails
writer.py            Writer: the thread that writes to the store
status.py            NodeStatus: the status of a node
"""
