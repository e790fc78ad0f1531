"""Between bytes and frames: plain objects without a clock or a socket. The caller passes the time.

codec.py      FrameCodec: frames to datagrams and back, with every check in between; uses everything below
peers.py      Peers: histories, rates and addresses of other nodes
addresses.py  AddressLimits: how many datagrams from which address are checked
fragments.py  split, Reassembly: frames that are longer than a datagram
replay.py     History: which datagrams of a sender were received already
envelope.py   Envelope: encryption and authentication of datagrams
packet.py     the datagram, byte by byte (docs/reference/wire.md)
costs.py      what security adds to frames and events, in bytes
"""
