"""How datagrams are sent and received: the media of a node, and the queue of own frames in front of each.

lanes.py          Lane: one medium of a node; Outboxes: which frame leaves on which media
outbox.py         Outbox: the queue of own frames; acknowledgements, repetitions, share of airtime
networks.py       the media in a node's settings
medium.py         Medium: the interface for sending and receiving; Network: the group's address
udp.py            UdpMedium: broadcast and multicast, on sockets that follow interfaces that come and go
unicast.py        UnicastMedium: UDP to named peers, through routers
serial.py         SerialMedium: a modem at the end of a serial line
kiss.py           KISS and AX.25: frames on such a line
kernel_filter.py  KernelFilter: which datagrams the kernel prefers during a flood
timers.py         Timers: all deadlines of a node behind one `loop.call_at`
"""
