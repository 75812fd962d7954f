"""Several instances before one cluster, with their records in a topic of it.

One is active, the others relay.
"""
