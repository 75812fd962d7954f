"""The audit log of several instances.

Entries are kept in a topic of the cluster, and mirrored by each instance.
"""
