"""How datagrams leave and arrive: sockets, and the queue of own frames in front of them.

outbox.py         Outbox: the queue of own frames; acknowledgements, repetitions, share of airtime
medium.py         Medium: what a node sends and receives by; Network: where the group meets
udp.py            UdpMedium: the sockets, which follow interfaces that come and go
kernel_filter.py  KernelFilter: which datagrams the kernel prefers during a flood
timers.py         Timers: all deadlines of a node behind one `loop.call_at`
"""
