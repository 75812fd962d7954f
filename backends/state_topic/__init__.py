"""Records in a compacted topic of the cluster.

Several instances, one active, fenced by the producer epoch.
"""
