"""A suite in the format of Kubernetes' scheduler_perf."""

from pathlib import Path

CONFIG = """
- name: Basic
  defaultPodTemplatePath: templates/pod.yaml
  workloadTemplate:
  - opcode: createNodes
    countParam: $nodes
  - opcode: createPodSets
    count: 2
    namespacePrefix: set
    createPodsOp:
      opcode: createPods
      count: 1
  - opcode: createPods
    countParam: $pods
    collectMetrics: true
  workloads:
  - name: 2Nodes
    labels: [short]
    threshold: 20
    params: {nodes: 2, pods: 4}
  - name: ByTopic
    threshold: {misc: 7, dra: 9}
    params: {nodes: 2, pods: 4}
  - name: Locked
    featureGates: {SchedulerQueueingHints: false}
    params: {nodes: 2, pods: 4}
  - name: Hook
    params: {nodes: 2, pods: 4, features: 5}

- name: Claims
  featureGates: {DynamicResourceAllocation: true, SchedulerAsyncAPICalls: true}
  workloadTemplate:
  - opcode: createAny
    templatePath: templates/resourceclaim.yaml
    countParam: $claims
    namespace: init
  - opcode: allocResourceClaims
    namespace: init
  - opcode: createPods
    count: 1
    collectMetrics: true
  workloads:
  - name: Some
    params: {claims: 3}
  - name: None
    params: {claims: 0}

- name: Slices
  workloadTemplate:
  - opcode: startCollectingMetrics
    namespaces: [default]
  - opcode: stopCollectingMetrics
  workloads:
  - name: All
"""

POD = """
apiVersion: v1
kind: Pod
metadata:
  generateName: pod-
spec:
  containers:
  - name: pause
    image: pause
    resources:
      requests: {cpu: 100m}
"""


def write_suite(folder: Path, config: str = CONFIG) -> Path:
    """Writes the suite below a folder."""
    misc = folder / "misc"
    (misc / "templates").mkdir(parents=True)
    (misc / "performance-config.yaml").write_text(config)
    (misc / "templates" / "pod.yaml").write_text(POD)
    return folder
