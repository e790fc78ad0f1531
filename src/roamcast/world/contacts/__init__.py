"""Contacts: which nodes hear each other, when that changes, and the rows of hearers that a transmission goes through.

neighbourhood  the interface of contacts for the world
kinetic        contacts of nodes that move by a model, at times that are computed
scheduled      contacts from a list
solver         when two nodes that move in straight lines are in contact
queue          the times at which contacts change
rows           hearers as numbers
hearers        hearers as stations
"""
