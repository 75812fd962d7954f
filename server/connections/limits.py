"""Limits of connections. Times are in seconds, sizes in bytes. The settings' names are in brackets."""

from dataclasses import dataclass

from protocol.frames import MAX_FRAME


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Limits of each connection, and of all together."""

    max_connections: int = 10_000
    """[max.connections] Connections of all listeners; one more is closed at once."""
    idle: float = 600.0
    """[connections.max.idle.ms] Time without a request, or without reading answers."""
    handshake: float = 10.0
    """[tls.handshake.timeout.ms] Time from accepting a connection to the end of its TLS handshake."""
    leave: float = 30.0
    """Time from closing a connection until both ends have read pending data; then it is aborted."""
    frame: float = 60.0
    """[frame.timeout.ms] Time from the first byte of a request to its last."""
    max_frame: int = MAX_FRAME
    """[socket.request.max.bytes] Largest request."""
    login_frame: int = 512 * 1024
    """[sasl.server.max.receive.size] Largest request before a login."""
    pipelined: int = 100
    """Waiting requests of one connection above which it is not read. One read may add more."""
    pipelined_bytes: int = 1024 * 1024
    """The same limit in bytes."""
    burst: int = 100
    """Requests of one connection answered in a row before the event loop handles other connections."""
    burst_bytes: int = 256 * 1024
    """The same limit in bytes of answers."""
    held_bytes: int = 512 * 1024 * 1024
    """[connections.max.held.bytes] Bytes buffered for all connections: waiting and incomplete requests,
    unread answers."""
