"""The page: a cluster in a browser, with every decision explained by the engine that schedules.

app.py         what can be asked for, and how it is answered
live_cluster.py, static_cluster.py, …   where the state comes from; all are read, none is written
node_map.py, queue_view.py, decision_view.py   that state as data for the browser
mirror.py      a simulation of the same objects, on which questions are tried in a thread of their own
updates.py     server-sent events: what changed, at most so often, and no more than a viewer takes
server.py      the loopback server
static/        the page itself: plain modules of JavaScript, a style sheet, nothing from elsewhere
"""
