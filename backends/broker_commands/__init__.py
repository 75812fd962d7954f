"""Requests of a controller to its brokers: LeaderAndIsr, UpdateMetadata, StopReplica."""
