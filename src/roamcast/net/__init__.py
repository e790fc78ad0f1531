"""Real nodes: protocols over UDP, serial lines and other media, authenticated, bounded and logged.

Each folder uses those below it in this list, and never those above it (`make lint` checks that):

    control/       access to a running node for other programs on its machine, over a Unix socket
    node/          Node: publish and subscribe for applications
    config.py      Config: the settings of a node, from file, environment and flags
    host/  keep/   Runner: runs one protocol on an asyncio loop; Store: what a node keeps on disk
    air/           media, the queues of own frames, timers
    wire/          between bytes and frames: datagrams, encryption, replay windows, fragments
    trust/         which nodes are believed: group keys, a node's own key and number, seals of events
    durable.py, limits.py, refusal.py     values that survive a restart; every bound; every reason to drop something
    live.py        the protocol and the parameters that nodes have unless others are chosen

docs/explanation/design.md follows one event from an application to another, function by function.

`wire/`, `trust/` and `keep/` know neither asyncio nor sockets: the caller passes the time. So every check between bytes
and frames can be tested, fuzzed and flooded without a network.

A *boot* is one start of a node until it stops. Its number is part of every datagram and only rises. The serial of a
transmission in the log is made of sender, boot and the counter of its first datagram. So it is the same at every node
that received the transmission, and different from all others. The bytes in the log are those of IP packets, and the
airtime is what they would take at the rate of their medium.

Sockets are read by `loop.add_reader`, so the loop must be one that has it: any on POSIX systems.
"""
