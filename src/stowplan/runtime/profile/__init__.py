"""Profiles: the plugins that serve one schedulerName, built from the configuration and bound to a cluster.

Belongs here: building a profile, sorting its plugins by scope, the handle that its plugins use.
Does not belong here: how a decision is made (`runtime.decide`).
May import: all of `runtime`, and every room below it.

Upstream: pkg/scheduler/profile/profile.go, pkg/scheduler/framework/runtime/framework.go (NewFramework)
"""
