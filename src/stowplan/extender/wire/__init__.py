"""The bytes of the extender protocol.

Belongs here: readers that accept the messages of every release of kube-scheduler and of extenders of any age (keys in
any case, other spellings, null, missing and unknown members), and writers whose messages all of them understand. The
server reads requests and writes replies, the client the reverse. Does not belong here: the meaning of a request, caches
beyond comparing bytes with those of an earlier request, I/O. May import `api` and `errors`.

Upstream: k8s.io/kube-scheduler/extender/v1/types.go
"""
