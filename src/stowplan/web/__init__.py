"""The page: the cluster, its queue and every answer in a browser, read-only.

Belongs here: the JSON that the page reads (`wire`), nodes and pods as columns of that JSON (`columns`), the state that
is shown (`source`), its HTTP routes (`routes`) and stream of changes (`stream`), access to a page on loopback
(`access`), questions about changes (`what_if`), the static files (`assets`, `static/`), the page as one file
(`report`), and the server of `stowplan web` (`server`).
Does not belong here: explanations (`insight`), simulation and the live scheduler, which implement `Source` for their
state (`simulator`, `scheduler`), options (`cli`).
May import `serving`, `insight`, `engine` and the rooms below; beside `extender`, which it does not import.
"""
