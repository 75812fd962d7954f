"""The compiled codec: functions that read and write one message in one version."""
