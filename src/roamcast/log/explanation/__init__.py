"""What became of an event: read from a log, and explained in sentences.

select.py     rows of a table, filtered before they become Python objects
spread.py     Spread: how one event went from node to node
links.py      Links: which nodes heard each other, and when
causes.py     why an event did not come to a node: near holders, lost frames, decisions, one word and clauses
pair.py       Explanation: one event at one node
lists.py      all events; one event at all nodes; all events at one node
words.py      ids, times, decisions and lists of nodes as people read and type them
text.py       the text of an explanation
"""
