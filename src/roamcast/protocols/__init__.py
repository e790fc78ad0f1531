"""How events spread: the protocols. Each system has one place here, and `registry.py` knows them by name.

    kit/          what systems share: the interface, frames and their encoding, parameters, small tables
    gossip.py     gossip and plain flooding
    counter.py    counter-based flooding (Ni et al., 1999)
    managed.py    managed flooding, in the manner of Meshtastic
    mpl/          MPL, the standard for multicast in low-power networks (RFC 7731)
    roam/         thin flooding that carries events, and repairs losses by comparing summaries
    flooding.py   the three floodings that Baehni et al. compare their system with
    proximity/    Baldoni et al.: proximity-driven routing
    frugal/       Baehni et al.: frugal event dissemination
    semiprob/     Costa et al.: semi-probabilistic routing, by broadcast and over links
    psamanet.py   Rezende et al.: movement carries publications
    treegroup/    Li et al.: groups of nodes, each a tree
    subtree/      one tree over the whole network, which Baldoni et al. and Li et al. compare themselves with

Where a system is a folder, its main class is in `protocol.py`.
"""
