"""How large the embedded cluster is, and how fast its data moves."""

from dataclasses import dataclass

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Settings:
    """Sizes in bytes, rates in bytes per second; rates hold for each broker, and each way of its network."""

    brokers: int = 6
    racks: int = 3
    log_dirs: int = 2
    partition_bytes: int = 10 * MIB
    """What a partition holds when this process first sees it."""
    produce_bytes_per_second: float = 0.0
    """What each partition's leader is sent by producers."""
    network_bytes_per_second: float = 5.0 * MIB
    disk_bytes_per_second: float = 50.0 * MIB
    """Of moves between two log directories of one broker."""
    replica_lag_time_seconds: float = 30.0
    """Kafka's replica.lag.time.max.ms: a follower that is behind for so long leaves the ISR."""
    tick_seconds: float = 0.05

    def rack(self, broker: int) -> str:
        """`rack-a`, `rack-b`, … in turn."""
        return f"rack-{chr(ord('a') + (broker - 1) % self.racks)}"
