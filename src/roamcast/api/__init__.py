"""What `import roamcast` offers (roamcast/__init__.py names it): the other packages, put together for programs.

simulation.py     one run
logs.py           logs, and pages that play them
campaigns.py      a whole campaign, kept in its folder
studies.py        many runs on this machine: protocols compared, settings swept
study.py          their results
drawing.py        figures
nodes.py          real nodes
"""
