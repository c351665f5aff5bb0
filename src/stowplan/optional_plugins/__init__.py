"""Optional plugins: off by default, enabled by naming them in a profile of a KubeSchedulerConfiguration.

Belongs here: plugins that kube-scheduler's default set does not have, first those of kubernetes-sigs/scheduler-plugins
under their upstream names and args. A plugin is a module or a folder, a row in `registry`, and its args in
`config.args.optional`. A module is imported only if a profile names its plugin. Does not belong here: plugins of the
default set (`plugins`). May import: `plugins.base`, `queue`, `cache`, `config`, `framework`, `api` and below.

Upstream: sigs.k8s.io/scheduler-plugins/pkg
"""
