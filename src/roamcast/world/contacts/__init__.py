"""Contacts: which nodes hear each other, when that changes, and the rows of hearers that a transmission goes through.

neighbourhood  the interface of contacts for the world
walking        nodes that move by a model, leg by leg
kinetic        their contacts, at times that are computed
sought         their contacts, looked for when they are needed
scheduled      contacts from a list
solver         when two nodes that move in straight lines are in contact
queue          the times at which contacts change
rows           rows of numbers of nodes, kept up to date
hearers        the hearers of a frame
"""
