"""What a connection may cost. Times are seconds, sizes bytes; names in brackets are the settings' dotted ones."""

from dataclasses import dataclass

from protocol.frames import MAX_FRAME


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Bounds of every connection, and of their number."""

    max_connections: int = 10_000
    """[max.connections] Over all listeners; one more is closed at once."""
    idle: float = 600.0
    """[connections.max.idle.ms] Without a request, or without reading its answers."""
    handshake: float = 10.0
    """[tls.handshake.timeout.ms] From accepting a connection to the end of its handshake."""
    leave: float = 30.0
    """From closing a connection until what is due has been read at both its ends; then it is cut."""
    frame: float = 60.0
    """[frame.timeout.ms] From the first byte of a request to its last."""
    max_frame: int = MAX_FRAME
    """[socket.request.max.bytes]"""
    pipelined: int = 100
    """Requests that wait on one connection before it is not read any more; there may be as many more as one read holds."""
    pipelined_bytes: int = 1024 * 1024
    """The same in bytes."""
    burst: int = 100
    """Requests answered in a row before other connections have their turn."""
    burst_bytes: int = 256 * 1024
    """Bytes of answers written in a row before other connections have their turn."""
    held_bytes: int = 512 * 1024 * 1024
    """[connections.max.held.bytes] Requests that are incomplete or wait, and answers that are not read, of all connections."""
