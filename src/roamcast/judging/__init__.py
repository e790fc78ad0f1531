"""Whether measurements agree with what the papers claim: statistics and verdicts, without Spark.

    student.py     Student's t: means and their intervals
    paired.py      differences seed by seed: their tests, corrected for how many there are
    effect.py      how large a paired difference is, with its interval
    sequential.py  when to stop adding seeds
    settings.py    what a campaign has set, as columns of its tables
    quantities.py  the numbers that figures and claims use: metrics of a run, and what follows from them
    publisher.py   which node publishes first in a run
    runs.py        choosing runs, and their numbers by seed
    answers.py     an interval against a limit: does it hold, and how many seeds would decide
    checks/        the kinds of checks that claims consist of
    judge.py       all checks of a claim, under the joint reading and under the other readings
    verdicts.py    the results: verdicts, how many of each, and the scorecard's files
    made.py        how results were made: program, machine, time
    recounted.py   runs whose numbers were compared with their logs
    kept.py        the verdicts of the last full campaign, which the package contains
    seeds.py       how many further seeds an undecided claim is worth

Everything here is a function of rows of the metrics table: the laboratory calls it after its runs, the report for its
figures, and tests without either.
"""
