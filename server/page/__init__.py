"""The page at `/`, for a browser: the cluster, its jobs and limits, and the actions on them.

It uses `/v1`.
"""
