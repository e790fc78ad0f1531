"""Access to a running node for other programs on its machine: a Unix socket in the state folder, for its owner only.

messages.py  the requests and the replies: one JSON object per line
server.py    Control: answers the requests to a node
metrics.py   MetricsServer: the status of a node, for Prometheus
remote.py    RemoteNode: the other end, for programs
client.py    Connection: the other end, for commands
"""
