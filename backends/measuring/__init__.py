"""Sizes of replicas and steps without progress, from the brokers' DescribeLogDirs."""
