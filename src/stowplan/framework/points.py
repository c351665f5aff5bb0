"""The names of the extension points, which are the fields of `plugins` in the configuration."""

PRE_FILTER = "preFilter"
FILTER = "filter"
POST_FILTER = "postFilter"
RESERVE = "reserve"
PRE_SCORE = "preScore"
SCORE = "score"
PRE_BIND = "preBind"
BIND = "bind"
POST_BIND = "postBind"
PERMIT = "permit"
PRE_ENQUEUE = "preEnqueue"
QUEUE_SORT = "queueSort"
PLACEMENT_GENERATE = "placementGenerate"
PLACEMENT_SCORE = "placementScore"

POINTS = (
    PRE_FILTER,
    FILTER,
    POST_FILTER,
    RESERVE,
    PRE_SCORE,
    SCORE,
    PRE_BIND,
    BIND,
    POST_BIND,
    PERMIT,
    PRE_ENQUEUE,
    QUEUE_SORT,
    PLACEMENT_GENERATE,
    PLACEMENT_SCORE,
)
"""In the order in which kube-scheduler fills them, hence in which it reports what is wrong with them."""

MULTI_POINT = "multiPoint"
"""Not a point itself: plugins listed under it run at every point that they implement."""


def interface(point: str) -> str:
    """What kube-scheduler's messages call the plugins of a point: `FilterPlugin` for `filter`."""
    return f"{point[0].upper()}{point[1:]}Plugin"
