"""Traces from other tools: one reader for each format, for the simulator and for the laboratory.

    files       opening, byte ranges, the beginning of a file
    record      what a reader yields; times are whole microseconds, places metres
    setdest, bonnmotion, one, sumo, contact_list, intervals, table, gpx      one family of formats each
    columns     what the cells of a line mean, by titles or by given names
    formats     their names, what each of them promises
    recognise   which format a file is in
    plan        a path becomes parts that can be read independently of each other
    watch       errors that only many lines show: time running backwards, nodes at two places, degrees for metres
    load        a whole trace in memory, for a simulation
    write       formats that can also be written

Nothing here is compiled, because a file is read before a run and not during it.
"""
