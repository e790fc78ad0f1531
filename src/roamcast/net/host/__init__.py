"""Runs one protocol on an asyncio loop, over one medium or several.

runner.py           Runner: starts and stops the protocol, and passes it the requests of the application
host.py             NetHost: the host of the protocol
handlers.py         Handlers: calls the protocol, one handler after the other
inbox.py            Inbox: received datagrams on their way to the protocol
copies.py           Copies: frames that come over several media
publisher.py        Publisher: numbers and seals the events of this node
deliveries.py       Deliveries: events on their way from the protocol to the application
decisions.py        Decisions: why the protocol did something, counted and logged
subscriptions.py    Subscriptions: the filters of the application
catch_up.py         CatchUp: gives a new protocol object the frames that earlier boots stored
boot_record.py      BootRecord: records from time to time that this node runs, and the positions of its peers
send_reports.py     SendReports: what happened to own frames
protocol_timers.py  ProtocolTimers: the protocol's timers, by key
muted.py            MutedIds: frames that are only counted
sampler.py          StateSampler: how much routing state the protocol has, in the log
senses.py           Senses: instruments of this node
status.py           RunnerStatus: what `roamcast status` shows about these parts
journal.py          Journal: the rows of a node's log
"""
