"""Feature gates of kube-scheduler v1.36. Gates that change decisions are fixed at their defaults, except one.

Upstream: pkg/features/kube_features.go, k8s.io/component-base/featuregate/feature_gate.go
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from stowplan.config.flags.values import BOOL
from stowplan.errors import ConfigError


class FeatureGate(NamedTuple):
    """Stage ("" for GA), default, and whether the gate is locked to it."""

    stage: str
    default: bool
    locked: bool


_NAMES = {
    FeatureGate("", True, False): """
        AllowServiceExternalIPs CustomCPUCFSQuotaPeriod DRAPrioritizedList InformerResourceVersion
        MutatingAdmissionPolicy
    """,
    FeatureGate("", True, True): """
        APIServerTracing AnonymousAuthConfigurableEndpoints AnyVolumeDataSource AuthorizeNodeWithSelectors
        AuthorizeWithSelectors BtreeWatchCache CPUManagerPolicyOptions CRDValidationRatcheting
        CSIServiceAccountTokenSecrets ConsistentListFromCache CustomResourceFieldSelectors DRAAdminAccess
        DeclarativeValidation DisableAllocatorDualWrite DynamicResourceAllocation ExecProbeTimeout
        ExternalServiceAccountTokenSigner ImageMaximumGCAge ImageVolume InOrderInformers
        InPlacePodVerticalScaling JobBackoffLimitPerIndex JobManagedBy JobPodReplacementPolicy JobSuccessPolicy
        KubeletCgroupDriverFromCRI KubeletFineGrainedAuthz KubeletPSI KubeletPodResourcesDynamicResources
        KubeletPodResourcesGet KubeletTracing LogarithmicScaleDown MatchLabelKeysInPodAffinity
        MultiCIDRServiceAllocator MutableCSINodeAllocatableCount NFTablesProxyMode
        NodeInclusionPolicyInPodTopologySpread NodeLogQuery NodeSwap OrderedNamespaceDeletion
        PodLifecycleSleepAction PodLifecycleSleepActionAllowZero PodObservedGenerationTracking
        PodSchedulingReadiness PreferSameTrafficDistribution ProcMountType RecoverVolumeExpansionFailure
        RecursiveReadOnlyMounts RelaxedDNSSearchValidation RelaxedEnvironmentVariableValidation
        ResilientWatchCacheInitialization RetryGenerateName SELinuxChangePolicy SELinuxMountReadWriteOncePod
        SchedulerQueueingHints SeparateTaintEvictionController ServiceAccountTokenJTI
        ServiceAccountTokenNodeBinding ServiceAccountTokenNodeBindingValidation ServiceAccountTokenPodNodeInfo
        SidecarContainers StreamingCollectionEncodingToJSON StreamingCollectionEncodingToProtobuf
        StructuredAuthenticationConfiguration SupplementalGroupsPolicy SystemdWatchdog
        TopologyManagerPolicyOptions UserNamespacesSupport VolumeAttributesClass WinDSR WinOverlay
    """,
    FeatureGate("ALPHA", False, False): """
        APIServingWithRoutine AllAlpha AllowUnsafeMalformedObjectDeletion CBORServingAndStorage
        CPUManagerPolicyAlphaOptions CRIListStreaming CSIVolumeHealth ClientsAllowCBOR ClientsPreferCBOR
        CloudControllerManagerWatchBasedRoutesReconciliation CloudControllerManagerWebhook ContainerStopSignals
        CrossNamespaceVolumeDataSource DRAListTypeAttributes DRANodeAllocatableResources DRAResourcePoolStatus
        DRAWorkloadResourceClaims EventedPLEG GangScheduling GenericWorkload HPAScaleToZero
        ImageVolumeWithDigest InPlacePodVerticalScalingExclusiveCPUs InPlacePodVerticalScalingExclusiveMemory
        KubeletInUserNamespace LoggingAlphaOptions ManifestBasedAdmissionControlConfig MemoryQoS
        MutablePVNodeAffinity NativeHistograms PersistentVolumeClaimUnusedSinceTime PodAndContainerStatsFromCRI
        PodLevelResourceManagers PodLogsQuerySplitStreams PodsAPI QOSReserved ReduceDefaultCrashLoopBackOffDecay
        RuntimeClassInImageCriApi ShardedListAndWatch StorageCapacityScoring StorageVersionAPI
        TaintTolerationComparisonOperators TopologyAwareWorkloadScheduling TopologyManagerPolicyAlphaOptions
        UserNamespacesHostNetworkSupport VolumeLimitScaling WindowsCPUAndMemoryAffinity WorkloadAwarePreemption
        WorkloadWithJob
    """,
    FeatureGate("BETA", False, False): """
        AllBeta ClusterTrustBundle ClusterTrustBundleProjection ConcurrentWatchObjectDecode
        CoordinatedLeaderElection DRADeviceTaintRules LocalStorageCapacityIsolationFSQuotaMonitoring
        MaxUnavailableStatefulSet PodCertificateRequest SELinuxMount SchedulerAsyncAPICalls
        StorageVersionMigrator
    """,
    FeatureGate("BETA", True, False): """
        APIResponseCompression APIServerIdentity AllowParsingUserUIDFromCertAuth AtomicFIFO
        AuthorizePodWebsocketUpgradeCreatePermission CPUManagerPolicyBetaOptions CRDObservedGenerationTracking
        ClearingNominatedNodeNameAfterBinding ClientsAllowCARotation ClientsAllowTLSCacheGC ComponentFlagz
        ComponentStatusz ConstrainedImpersonation ContainerCheckpoint ContainerRestartRules ContextualLogging
        DRAConsumableCapacity DRADeviceBindingConditions DRADeviceTaints DRAExtendedResource
        DRAPartitionableDevices DRAResourceClaimDeviceStatus DRAResourceClaimGranularStatusAuthorization
        DRASchedulerFilterTimeout DeclarativeValidationBeta DeploymentReplicaSetTerminatingReplicas
        DetectCacheInconsistency EnvFiles ExtendWebSocketsToKubelet GracefulNodeShutdown
        GracefulNodeShutdownBasedOnPodPriority HPAConfigurableTolerance HostnameOverride
        InOrderInformersBatchProcess InPlacePodLevelResourcesVerticalScaling
        InPlacePodVerticalScalingInitContainers KubeletCrashLoopBackOffMax KubeletEnsureSecretPulledImages
        KubeletSeparateDiskGC KubeletServiceAccountTokenForCredentialProviders ListFromCacheSnapshot
        LoggingBetaOptions MatchLabelKeysInPodTopologySpread MatchLabelKeysInPodTopologySpreadSelectorMerge
        MutablePodResourcesForSuspendedJobs MutableSchedulingDirectivesForSuspendedJobs NodeDeclaredFeatures
        NominatedNodeNameForExpectation OpenAPIEnums OpportunisticBatching PLEGOnDemandRelist PodDeletionCost
        PodLevelResources PodReadyToStartContainersCondition PodTopologyLabelsAdmission PortForwardWebsockets
        PreventStaticPodAPIReferences RelaxedServiceNameValidation ReloadKubeletClientCAFile
        ReloadKubeletServerCertificateFile RemoteRequestHeaderUID ResourceHealthStatus
        ResourceHealthStatusMessage RestartAllContainersOnContainerExits RotateKubeletServerCertificate
        SchedulerAsyncPreemption SchedulerPopFromBackoffQ ServiceAccountNodeAudienceRestriction
        SizeBasedListCostEstimate StaleControllerConsistencyDaemonSet StaleControllerConsistencyJob
        StaleControllerConsistencyReplicaSet StaleControllerConsistencyStatefulSet
        StatefulSetSemanticRevisionComparison StorageVersionHash StrictIPCIDRValidation
        StructuredAuthenticationConfigurationEgressSelector StructuredAuthenticationConfigurationJWKSMetrics
        TokenRequestServiceAccountUIDValidation TopologyManagerPolicyBetaOptions
        TranslateStreamCloseWebsocketRequests UnauthenticatedHTTP2DOSMitigation
        UnknownVersionInteroperabilityProxy UnlockWhileProcessingFIFO WatchCacheInitializationPostStartHook
        WatchList WatchListClient WindowsGracefulNodeShutdown
    """,
    FeatureGate("DEPRECATED", False, False): """
        AllowDNSOnlyNodeCSR AllowInsecureKubeletCertificateSigningRequests ChangeContainerStatusOnKubeletRestart
        DeclarativeValidationTakeover KMSv1 KubeletRegistrationGetOnExistsOnly WindowsHostNetwork
    """,
    FeatureGate("DEPRECATED", False, True): """
        AllowOverwriteTerminationGracePeriodSeconds GitRepoVolumeDriver SeparateCacheWatchRPC
    """,
    FeatureGate("DEPRECATED", True, False): """
        DisableCPUQuotaWithExclusiveCPUs KubeletPodResourcesListUseActivePods ServiceCIDRStatusFieldWiping
        StorageNamespaceIndex
    """,
    FeatureGate("DEPRECATED", True, True): """
        AggregatedDiscoveryRemoveBetaType DisableNodeKubeProxyVersion
    """,
}

GATES = {name: gate for gate, names in _NAMES.items() for name in names.split()}

_ALL_BETA = "AllBeta"
"""Changes other gates even with its default value."""

_FIXED = frozenset(
    (
        "AllAlpha",
        "AllBeta",
        "CoordinatedLeaderElection",
        "DRAConsumableCapacity",
        "DRADeviceBindingConditions",
        "DRADeviceTaints",
        "DRAExtendedResource",
        "DRAListTypeAttributes",
        "DRANodeAllocatableResources",
        "DRAPartitionableDevices",
        "DRAPrioritizedList",
        "DRAResourceClaimDeviceStatus",
        "DRASchedulerFilterTimeout",
        "DRAWorkloadResourceClaims",
        "GangScheduling",
        "GenericWorkload",
        "InPlacePodLevelResourcesVerticalScaling",
        "MatchLabelKeysInPodTopologySpread",
        "NodeDeclaredFeatures",
        "NominatedNodeNameForExpectation",
        "PodLevelResources",
        "SchedulerAsyncPreemption",
        "SchedulerPopFromBackoffQ",
        "StorageCapacityScoring",
        "TaintTolerationComparisonOperators",
        "TopologyAwareWorkloadScheduling",
        "VolumeLimitScaling",
        "WorkloadAwarePreemption",
    )
)
"""Gates that change decisions. They cannot be changed."""

TAINT_RULES = "DRADeviceTaintRules"
"""The gate that changes decisions and can be changed."""


def parse_gates(items: Iterable[str]) -> dict[str, bool]:
    """All gates with the given values. Raises ConfigError, in kube-scheduler's words where it has an error."""
    given: dict[str, bool] = {}
    prefixes = set()
    for item in filter(None, items):
        component, _, pair = item.rpartition(":")
        prefixes.add(component)
        if component not in ("", "kube"):
            raise ConfigError(f"component not registered: {component}")
        name, separator, text = pair.partition("=")
        if not separator:
            raise ConfigError(f"missing bool value for {name}")
        try:
            given[name.strip()] = BOOL.read(text.strip())
        except ValueError as error:
            raise ConfigError(f"invalid value of {name}={text}, err: {error}") from None
    if len(prefixes) > 1:
        mixed = "set kube feature gates with default empty prefix or kube: prefix consistently, do not mix use"
        raise ConfigError(mixed)
    for name, value in given.items():
        _check(name, value)
    return {name: gate.default for name, gate in GATES.items()} | given


def _check(name: str, value: bool) -> None:
    gate = GATES.get(name)
    if gate is None:
        raise ConfigError(f"unrecognized feature gate: {name}")
    if value == gate.default and name != _ALL_BETA:
        return
    shown = str(gate.default).lower()
    if gate.locked:
        raise ConfigError(f"cannot set feature gate {name} to {str(value).lower()}, feature is locked to {shown}")
    if name in _FIXED:
        raise ConfigError(
            f"--feature-gates: {name} cannot be changed: pods are scheduled as with the default gates of v1.36"
        )
