"""Traces in Spark: `spark.read.format("roamcast-trace")`, contacts of moving nodes, and statistics of contacts.

source       the data source: files of any format to rows
trace        a whole trace: read once, checked, with its names and its malformed lines
contacts     from positions to contacts, by a join over time slices and grid cells
statistics   durations, times between contacts, degrees, reachability
convert      from one format to another
"""
