"""The one room that talks to a Kubernetes API server.

Belongs here: kubeconfig and credentials; connections and their rate; feeds, which list and watch kinds of objects, and
snapshots, which list them once; the writing of bindings, statuses and events; leader election; and the errors of all
that.
Does not belong here: what is made of the objects. Feeds end in a sink, instructions come as values of `framework`.
May import: `api`, `config`, `framework`, `observe` and `errors`.
"""
