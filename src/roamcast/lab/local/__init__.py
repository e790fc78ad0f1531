"""Small jobs on this machine, without Spark and Java: a pool of processes.

pool.py      a function of many items in worker processes
engine.py    the runs of a campaign
jobs.py      runs that leave nothing on disk, for comparisons in a notebook
"""
