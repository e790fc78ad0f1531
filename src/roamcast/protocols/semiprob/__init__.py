"""Semi-probabilistic routing (Costa et al.): subscriptions decide near a subscriber, chance farther away.

protocol.py     SemiProb: the paper's system, by broadcast, and the readings
links.py        SemiProbLinks: its ancestor, over links between neighbours
link_tables.py  the subscription tables that neighbours exchange over these links, and the frames
"""
