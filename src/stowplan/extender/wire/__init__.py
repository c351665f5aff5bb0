"""The bytes of the extender protocol.

Belongs here: readers that take whatever any release of kube-scheduler, or an extender of any age, has sent (any case of
keys, other spellings, null, absent and unknown members), and writers that send what all of them understand. The server
reads requests and writes replies, the client does the reverse. Does not belong here: what a request means, any cache
beyond comparing bytes with those of an earlier request, any I/O. May import `api` and `errors`.
"""
