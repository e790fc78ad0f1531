"""A running node for other programs on its machine: a Unix socket in the state folder, which only its owner can open.

messages.py  the requests and the replies: one JSON object per line
server.py    Control: answers the requests to a node
client.py    Connection: the other end, for commands
"""
