"""How datagrams are sent and received: sockets, and the queue of own frames in front of them.

outbox.py         Outbox: the queue of own frames; acknowledgements, repetitions, share of airtime
medium.py         Medium: the interface for sending and receiving; Network: the group's address
udp.py            UdpMedium: the sockets, which follow interfaces that come and go
kernel_filter.py  KernelFilter: which datagrams the kernel prefers during a flood
timers.py         Timers: all deadlines of a node behind one `loop.call_at`
"""
