"""Trimaran: scores by the measured load of nodes.

Belongs here: the sources of load metrics, their collection off the scheduling loop, and the plugins that score by
them: TargetLoadPacking, LoadVariationRiskBalancing, LowRiskOverCommitment.

Upstream: sigs.k8s.io/scheduler-plugins/pkg/trimaran
"""
