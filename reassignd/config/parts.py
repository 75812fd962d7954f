"""Converts the settings to those of single components, whose dataclasses have times in seconds."""

from backends.embedded.settings import Settings as EmbeddedSettings
from controller.model.configs import PARTITION_BYTES, PRODUCE_RATE
from reassignd.config.settings import Settings
from server.connections.client_connection import ConnectionLimits


def embedded_settings(settings: Settings) -> EmbeddedSettings:
    """Return the settings of the embedded cluster."""
    return EmbeddedSettings(
        brokers=settings.embedded_brokers,
        racks=settings.embedded_racks,
        log_dirs=settings.embedded_log_dirs,
        partition_bytes=settings.embedded_partition_bytes,
        produce_bytes_per_second=settings.embedded_produce_bytes_per_second,
        network_bytes_per_second=settings.embedded_network_bytes_per_second,
        disk_bytes_per_second=settings.embedded_disk_bytes_per_second,
        replica_lag_time_seconds=settings.replica_lag_time_max_ms / 1000,
        tick_seconds=settings.embedded_tick_ms / 1000,
    )


def embedded_defaults(settings: Settings) -> dict[str, str]:
    """Return the defaults of the topic configs that only the embedded cluster has."""
    return {
        PARTITION_BYTES: str(settings.embedded_partition_bytes),
        PRODUCE_RATE: str(int(settings.embedded_produce_bytes_per_second)),
    }


def limits(settings: Settings) -> ConnectionLimits:
    """Return the limits of client connections."""
    return ConnectionLimits(
        max_connections=settings.max_connections,
        idle=settings.connections_max_idle_ms / 1000,
        handshake=settings.tls_handshake_timeout_ms / 1000,
        frame=settings.frame_timeout_ms / 1000,
        max_frame=settings.socket_request_max_bytes,
        login_frame=settings.sasl_server_max_receive_size,
        held_bytes=settings.connections_max_held_bytes,
    )
