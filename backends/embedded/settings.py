"""Size and speed of the embedded cluster."""

from dataclasses import dataclass

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Settings:
    """Sizes are in bytes, rates in bytes per second.

    The network's rate applies to each broker and each direction.
    """

    brokers: int = 6
    racks: int = 3
    log_dirs: int = 2
    partition_bytes: int = 10 * MIB
    """Size of a partition when this process first uses it."""
    produce_bytes_per_second: float = 0.0
    """Rate at which producers write to each partition."""
    network_bytes_per_second: float = 5.0 * MIB
    disk_bytes_per_second: float = 50.0 * MIB
    """Rate of moves between log directories of one broker."""
    replica_lag_time_seconds: float = 30.0
    """How long a follower may be behind before it leaves the ISR (Kafka: replica.lag.time.max.ms)."""
    tick_seconds: float = 0.05

    def rack(self, broker: int) -> str:
        """Return the broker's rack: `rack-a`, `rack-b`, … in turn."""
        return f"rack-{chr(ord('a') + (broker - 1) % self.racks)}"
