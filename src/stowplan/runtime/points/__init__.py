"""Running the extension points that are not part of choosing a node: PostFilter, and Reserve to PostBind.

Belongs here: one runner for each shape of extension point, the error that ends a cycle, pods that wait at Permit. Does
not belong here: PreFilter, Filter and Score (`runtime.decide`), the binding cycle itself (`engine`), the table of
extension points (`framework.points`). May import: every room below `runtime`.

Upstream: pkg/scheduler/framework/runtime/framework.go (RunPostFilterPlugins, RunReservePluginsReserve and others)
"""
