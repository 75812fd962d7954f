"""Format bytes and durations."""

UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def in_bytes(number: float) -> str:
    """Return `1.5 GiB`: three significant digits in the largest unit of which the value is at least 1."""
    exponent = 0
    while number >= 1024 and exponent < len(UNITS) - 1:
        number /= 1024
        exponent += 1
    digits = 0 if number >= 100 or number == int(number) else 1 if number >= 10 else 2
    return f"{number:.{digits}f} {UNITS[exponent]}"


def in_time(seconds: float) -> str:
    """Return `3 d 4 h`, `12 min 30 s` or `4.2 s`: at most two units."""
    if seconds < 60:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return _two(minutes, "min", rest, "s")
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return _two(hours, "h", minutes, "min")
    days, hours = divmod(hours, 24)
    return _two(days, "d", hours, "h")


def ticks(maximum: float, count: int = 4) -> list[float]:
    """Return about `count` round numbers from 0 to the first beyond `maximum`, in binary units if large."""
    if maximum <= 0:
        return [0, 1]
    unit = 1.0
    while maximum / unit >= 1024:
        unit *= 1024
    least = maximum / unit / count
    scale = 10.0 ** (len(str(int(least))) - 1) if least >= 1 else 1.0
    while scale > least:
        scale /= 10
    step = next(factor * scale for factor in (1, 2, 2.5, 5, 10) if factor * scale >= least) * unit
    return [step * each for each in range(int(-(-maximum // step)) + 1)]


def _two(large: int, large_unit: str, small: int, small_unit: str) -> str:
    return f"{large} {large_unit} {small} {small_unit}" if small else f"{large} {large_unit}"
