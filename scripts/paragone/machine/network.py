"""Network interfaces of this host."""

import psutil


def interface_of(address: str) -> str | None:
    """The network interface that has this address."""
    for name, entries in psutil.net_if_addrs().items():
        if any(entry.address == address for entry in entries):
            return name
    return None
