"""Explanations of decisions: why a pod is pending, why it is on its node, which change would help.

Belongs here: the filter matrix (`matrix`), the order of rules and the dominating reason (`steps`), sentences
(`sentences`), checked changes (`altered`, `proposals`, `closest`), points of placed pods (`placed`, `points`,
`thresholds`), the rules about one node (`why_not`), the queue in words (`queue_words`, `wake_words`), groups of pending
pods (`groups`), failures of the last attempt (`last_attempt`), references to pods (`finding`, `workloads`), and
rendering as text (`text`).
An explanation reads the cluster and changes nothing; every proposal is checked by the profile's own filters.
Does not belong here: rules of plugins (their facts come from `Plugin.explain`), simulation of changes over time
(`simulator`), terminal output and HTTP (`cli`, `serving`).
May import `runtime`, `cluster` and everything below; beside `engine`, which it does not import.
"""
