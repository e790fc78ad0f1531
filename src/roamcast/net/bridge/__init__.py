"""Bridges between a running node and other systems. They are programs of their own that use the node's control socket.

mapping.py   topics and JSON fields of MQTT to events, and back
ledger.py    Ledger: which events have reached the broker
broker.py    Broker: the connection to an MQTT broker
bridge.py    Bridge: takes messages from the broker to the node, and events from the node to the broker
"""
