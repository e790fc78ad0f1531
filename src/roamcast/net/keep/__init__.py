"""What a node keeps on disk: one SQLite file for its state, and the files of its log.

store.py          Store: all of the following, in one file
own_events.py     OwnEvents: events that this node published, until they expire
received.py       ReceivedEvents: events for the application, in the order in which they came
carried.py        CarriedFrames: frames with events of other nodes, for the catch-up after a restart
subscriptions.py  NamedSubscriptions: subscriptions that outlive their application
values.py         StoredValues: the durable values (net/durable.py)
clock.py          StoreClock: time as the store counts it, whatever the system's clock is set to
content.py        events as bytes
database.py       Database: the SQLite file, its tables and transactions; Bounds
rotation.py       RotatingSink: the log, one file after the other
"""
