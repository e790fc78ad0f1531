"""One protocol at work on an asyncio loop, over a medium.

runner.py           Runner: starts and stops the protocol, and gives it what the application asks for
host.py             NetHost: what the protocol can ask for, and nothing else
handlers.py         Handlers: calls the protocol, one handler after the other
inbox.py            Inbox: received datagrams on their way to the protocol
publisher.py        Publisher: numbers and seals the events of this node
deliveries.py       Deliveries: events on their way from the protocol to the application
decisions.py        Decisions: why the protocol did something, counted and logged
subscriptions.py    Subscriptions: the filters that the application asked for
catch_up.py         CatchUp: gives a new protocol object the frames that earlier boots stored
boot_record.py      BootRecord: notes from time to time that this node runs, and what it heard
send_reports.py     SendReports: what happened to own frames
protocol_timers.py  ProtocolTimers: the protocol's timers, by key
muted.py            MutedIds: frames that are only counted
sampler.py          StateSampler: how much routing state the protocol has, in the log
senses.py           Senses: instruments of this node
status.py           RunnerStatus: what `roamcast status` shows of all this
journal.py          Journal: the rows of a node's log
"""
