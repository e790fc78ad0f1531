"""Tree groups (Li et al.): nodes form small trees, and events go from tree to tree through gateways.

protocol.py       TreeGroup: heartbeats, which part gets which frame, and the readings
membership.py     how a node finds a group, leads one, and replaces a lost parent (§3.1, §3.4)
leader.py         the weight of a leader (§3.1)
merging.py        which groups merge, and which leader stays (§3.1)
index.py          bitmaps and gateway records of a branch (§3.2, §3.3)
gateways.py       ways to the adjacent groups (§3.3)
routing.py        events on their way (§3.2, §3.3)
bloom_routing.py  how filters and events become keys of a bitmap (§3.2, §3.5)
tables.py         a node's neighbours and children
frames.py         the frames
params.py         the parameters
"""
