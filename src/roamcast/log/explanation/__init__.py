"""What happened to an event: read from a log, and explained in sentences.

answers.py    Answers: the questions to a log, and what is computed once for all of them
pair.py       Explanation: one event at one node
lists.py      all events; one event at all nodes; all events at one node
timeline.py   what happened to an event at a node, in order
causes.py     why an event did not come to a node: one word, and clauses for a sentence
holders.py    nodes that had the event and met the node in question, and what they did
spread.py     Spread: how one event went from node to node
links.py      Links: which nodes heard each other, and when
places.py     Places: distances, where the log has movements
select.py     Columns: rows of a log, filtered before they become Python objects
words.py      ids, times, decisions and lists of nodes as people read and type them
text.py       the text of an explanation
"""
