"""Where it happens, for real: protocols over UDP broadcast and multicast, authenticated, bounded, logged.

Who calls whom, from the wire inwards (a file knows those below it in this list, never those above):

    control.py    Control: a node for other programs on its machine, by a Unix socket; Connection: the other end
    node.py       Node: publish and subscribe for applications; Subscription
    config.py     Config: file, environment and flags
    rotation.py   RotatingSink: the log of a node, a file after the other
    store.py      Store(DurableValues): all that survives a restart, in SQLite
    host.py       Runner(Host): one node. Runs a protocol on an asyncio loop and keeps the host's promises
    journal.py    Journal: the rows of a node's log
    outbox.py     Outbox: the queue of own frames; acknowledgements and retries, airtime governor, full buffers
    medium.py     Medium (what a node sends and hears by); UdpMedium(Network): the sockets, a watch on the interfaces
    sieve.py      KernelFilter: whom the kernel prefers while more comes than can be read
    timers.py     Timers: every deadline of a node on one heap, behind one `loop.call_at`
    link.py       FrameCodec: frames to datagrams, datagrams to frames, and every check in between. No clock, no socket
    fragments.py  split, Reassembly: frames longer than a datagram
    peers.py      Gate, Peers: all that is kept about neighbours, within a budget for each and for all
    replay.py     ReplayWindow
    publications.py  sealed, unsealed, Verifier: publications signed by their publisher, bound to its node number
    identity.py   Identity (Ed25519), node_number, Roster, take_boot, Sequence; Membership: what a node is to take part
    security.py   KeyRing (the group's keys, and their file), Envelope (AEAD); OVERHEAD_BYTES, SEAL_BYTES
    vault.py      DurableValues: the few bytes that must survive a restart; MemoryValues, FileValues
    limits.py     Limits (every bound, with its default), TokenBucket
    packet.py     the outer datagram, byte by byte (docs/reference/wire.md)
    refusal.py    Refused, and the reasons why something is dropped; Tally counts them

Only control.py, node.py, host.py, medium.py, sieve.py and timers.py know asyncio or sockets: everything between bytes
and frames is plain objects that are told the time. security.py can be imported by anybody who wants to know what a
frame costs.

    member = Membership.secure(FileValues(folder), KeyRing.load("group.key"), roster=None, clocks_within_s=None)
                                                   # or Membership.insecure(number), which shouts
    host = Runner(protocol_class, params, member, UdpMedium(Network(group="239.255.77.67", interface="wlan0")),
                   limits=Limits(), sink=LogSink(), level="frames", on_deliver=callback, senses=Senses(),
                   sample_s=0.0)
    host.start()                                   # in a running loop: opens the medium, tells the protocol
    number = host.subscribe(filter); host.unsubscribe(number)       # before or after `start`
    Runner(…, on_carry=callback, past=frames)     # what others said, to be kept; and what was kept (host.py)
    sealed = host.prepare(topic, attrs, payload, validity_us, scope)    # numbered (durably) and signed; InputError
    host.publish(sealed)                           # logged, and told the protocol
    host.renew(sealed, left_us)                    # of an earlier life: what is left of its validity, sealed anew
    host.use(key_ring)                             # rotation, without a restart
    host.status()                                  # plain data: neighbours, queues, counters by reason
    host.stop()                                    # as a crash does, but in good order; `start` again goes on
    host.summarise()                               # counters beside the rows of the log, before the sink is closed

`on_deliver(event, sealed)` gets the event as it was published, and the event as it travels. What travels is *sealed*:
its payload ends in the publisher's clock, public key and signature (100 bytes). So the seal survives every protocol and
every store that keeps events, needs no table beside them, and is counted in every size. Protocols see nothing else.
It is called inside a handler of the protocol, synchronously; whatever it publishes waits until that is over.

A store of another kind is a `DurableValues`: `load(name) -> bytes | None`, `store(name, value)` durable when it
returns. Names: "identity" (32 bytes), "boot" and "sequence" (8 bytes, high-water marks), "heard" (kilobytes) and
"alive" (8 bytes), both every five minutes, "number" (of insecure nodes), "clock" and "unchecked" (a `Store`'s own).
`Store` is what `Node` uses.

Sockets are read by `loop.add_reader`, so the loop must be one that has it: any on POSIX systems.

Time: `Host.now` is microseconds since the host was made, by the loop's monotonic clock. Rows of the log have
`host.epoch_us` added: Unix time of the host's making, taken once, so that they never go back. A transmission's serial
in the log is made of sender, boot and counter of its (first) datagram, so that it is the same at everybody who heard it
and of no other, in no other life of its sender either. Its bytes are those of IP packets, and its airtime is what these
would take at `Limits.rate_bps`.
"""
