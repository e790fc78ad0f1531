"""People look rather than read: figures, the league, and one page that holds everything.

    tables.py    a folder of results, read without Spark         markup.py    HTML that cannot be injected into
    panels.py    what a figure shows: series, intervals          figures.py   how it is drawn
    distance.py  the one figure that no simulation makes         league.py    protocols compared: Pareto fronts
    page.py      the parts of the report                         report.py    all of it, in one file
    scorecard.py the claims of the papers, judged                findings.py  the pages of findings
    cells.py     cells of a campaign, named by what varies       sweeps.py    what each setting of a campaign does
    campaign.py  the part of the report about a campaign         album.py     figures as files and in the page
    parts.py     what the page is folded into, contents          claims.py    one claim in full
    standings.py the league on the page                          legend.py    one legend for all panels of a figure
    fits.py      laws of times, by maximum likelihood            times.py     contacts of traces, drawn with their laws
    samples.py   a run of each paper's system, to look at        replay/      a run as a page that plays it
    numbers.py   numbers for people

Everything here is a function of the tables: the same results give the same bytes, whenever and wherever.
"""
