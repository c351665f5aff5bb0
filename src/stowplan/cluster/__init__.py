"""Client of the Kubernetes API server; the only room that sends requests to it.

Belongs here: kubeconfig and credentials; connections and rate limits; reflectors, which list and watch kinds, and
snapshots, which list them once; bindings, status patches and events; leader election; and their errors.
Does not belong here: the handling of objects. Reflectors deliver to a sink; instructions are values of `framework`.
May import: `api`, `config`, `framework`, `logs` and `errors`.

Upstream: k8s.io/client-go
"""
