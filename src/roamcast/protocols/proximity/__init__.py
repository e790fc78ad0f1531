"""Proximity-driven routing (Baldoni et al.).

protocol.py  Proximity: the procedure of the paper's Fig. 3, and the readings
frames.py    beacons, and messages with their destination lists
"""
