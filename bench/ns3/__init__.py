"""The same gossip in the same worlds, by roamcast and by ns-3: part of `make bench`, or `python bench/run.py --ns3`.

gossip.cc     the program for ns-3
program.py    builds and runs it, where Debian's package libns3-dev is installed
worlds.py     the worlds
exchange.py   the file by which ns-3 gets one
compare.py    both in turns, and the table
"""
