"""A run as a page that plays it: nodes move, frames spread, and a click says why.

    cut.py      which rows of a log a page has: all, or those of a time and of some nodes
    world.py    what the log says about its world: area, ranges, streets, a wall
    places.py   where nodes are: movements in the log, measured positions, or a graph of which heard which
    layout.py   that graph, drawn
    events.py   how each event spread, which nodes wanted it, and why some never got it
    scene.py    all of this about one log, as tables and texts
    rules.py    rules of the log that the page's programs follow, too
    packed.py   tables of whole numbers as few bytes, which a browser unpacks by itself
    page.py     one or two scenes, and the programs of show/assets, in one file
    live.py     the same page for a node that runs, served on this machine

The page's own programs (show/assets/replay-*.js) draw on a canvas by hand: a few hundred lines, where a library for
graphs or maps would bring several hundred kilobytes and still not know what a frame, a wave or a collision is.
"""
