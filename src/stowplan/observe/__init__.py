"""What a scheduler lets others see of itself: metrics, log lines, health.

Belongs here: counting and timing that costs next to nothing until somebody scrapes it; kube-scheduler's metrics by
name, label and bucket; log lines as Kubernetes' components write them; health checks and how they are told.
Does not belong here: who counts what when (the hosts know), and any server.
May import: `api` and `errors`.
"""
