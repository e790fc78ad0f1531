"""Where it happens, for real: protocols over UDP broadcast and multicast, authenticated, bounded, logged.

Who calls whom, from the wire inwards (a file knows those below it in this list, never those above):

    host.py       NetHost(Host): one node. Runs a protocol on an asyncio loop and keeps the host's promises
    medium.py     Medium (what a node sends and hears by), UdpMedium: the sockets, and a watch on the interfaces
    outbox.py     Outbox: the queue of own frames; acknowledgements and retries, airtime governor, full buffers
    timers.py     Timers: every deadline of a node on one heap, behind one `loop.call_at`
    link.py       Link: frames to datagrams, datagrams to frames, and every check in between. No clock, no socket
    peers.py      Peers: all that is kept about neighbours, within a budget for each and for all; replay windows
    fragments.py  split, Reassembly
    publications.py  Signer, Verifier: publications signed by their publisher, bound to its node number
    security.py   KeyRing (the group's keys), Sealer and Opener (AEAD), OVERHEAD_BYTES, SEAL_BYTES
    identity.py   Identity (Ed25519), node_number, Roster; Member: all that a node must be to take part
    vault.py      Vault: the few bytes that must survive a restart; MemoryVault, FileVault
    limits.py     Limits (every bound, with its default), TokenBucket
    packet.py     the outer datagram, byte by byte (docs/reference/wire.md)
    refusal.py    Refused, and the reasons why something is dropped; Tally counts them

Only host.py, medium.py and timers.py know asyncio or sockets: everything between bytes and frames is plain objects that
are told the time. security.py can be imported by anybody who wants to know what a frame costs.

    member = Member.secure(FileVault(folder), KeyRing.load("group.key"))    # or Member.insecure(number), which shouts
    host = NetHost(protocol_class, params, member, UdpMedium(Network(group="239.255.77.67", interface="wlan0")),
                   limits=Limits(), sink=LogSink(), on_deliver=callback)
    host.start()                                   # in a running loop: opens the medium, tells the protocol
    number = host.subscribe(filter); host.unsubscribe(number)
    event = host.publish(topic, attrs, payload, validity_us, scope)    # signed, numbered, logged, told the protocol
    host.status()                                  # plain data: neighbours, queues, counters by reason
    host.stop()                                    # as a crash does, but with sockets closed and counters kept

`on_deliver(event, sealed)` gets the event as it was published, and the event as it travels. What travels is *sealed*:
its payload ends in the publisher's public key and signature (96 bytes). So the seal survives every protocol and every
store that keeps events, needs no table beside them, and is counted in every size. Protocols see sealed events only.

Time: `Host.now` is microseconds since the host was made, by the loop's monotonic clock. Rows of the log have
`host.epoch_us` added: Unix time of the host's making, taken once, so that they never go back. A transmission's serial
in the log is sender << 32 | counter of its (first) datagram, the same at everybody who heard it.
"""
