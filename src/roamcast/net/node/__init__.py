"""Publish/subscribe for applications.

node.py          Node: the whole node, for applications
subscription.py  Subscription: an asynchronous iterator over events
subscribers.py   Subscribers: the subscriptions that applications hold now
publication_keys.py  PublicationKeys: which publications a program may ask for again
publishing.py    Publishing: stores own events, then gives them to the protocol, at a pace that the queue can take
writer.py        Writer: the thread that writes to the store
status.py        NodeStatus: the status of a node
"""
