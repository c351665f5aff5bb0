"""A scheduler on a real cluster: the engine with a loop around it.

Belongs here: the event loop that feeds the engine and carries out its instructions (`scheduling_loop`), calls of plugin
methods that may block, answers about pods between its cycles (`answers`, `live_insight`) and in events
(`explained_events`), the data of the pages (`monitoring`), signals, start and end (`process`).
Does not belong here: decisions (`runtime`), the rules of the loop (`engine`), requests to the API server (`cluster`),
flags and options (`config`), the server and its pages (`serving`), metrics (`observe`). May import every room below it.

Upstream: cmd/kube-scheduler/app/server.go, pkg/scheduler/scheduler.go
"""
