"""Reads a gRPC target without looking a name up: whether it is complete, and whether it is this host."""

from __future__ import annotations

import ipaddress

from corank._errors import InvalidArgument

_EXAMPLE = "127.0.0.1:50051"
_FOREIGN_SCHEMES = ("http://", "https://", "grpc://", "grpcs://", "tcp://")  # gRPC would look them up as hosts
_SCHEMES = ("unix", "unix-abstract", "vsock", "dns", "ipv4", "ipv6", "xds")


def _host(address: str) -> str:
    """The host of "host", "host:port" or "[host]:port"; an IPv6 address without brackets is all host."""
    if address.startswith("["):
        return address[1:].partition("]")[0]
    return address.partition(":")[0] if address.count(":") == 1 else address


def _is_loopback(address: str) -> bool:
    host = _host(address)
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def checked(address: object) -> str:
    """An address that was given, if it is one.

    Raises:
        TypeError: it is no text.
        InvalidArgument: it has no port, is a URL or holds a space.
    """
    if not isinstance(address, str):
        raise TypeError(f"address: must be text such as {_EXAMPLE!r}, is {address!r} ({type(address).__name__})")
    if any(character.isspace() for character in address):
        raise InvalidArgument(f"address: {address!r} holds a space; give host:port, as in {_EXAMPLE}", field="address")
    if address.startswith(_FOREIGN_SCHEMES):
        host = address.partition("://")[2].partition("/")[0]
        example = host if host.rpartition("]")[2].count(":") == 1 else f"{host}:50051"
        text = f"address: {address!r} is a URL; give host:port, such as {example}"
        raise InvalidArgument(text, field="address")
    scheme, colon, _ = address.partition(":")
    if "/" in address or (colon and scheme in _SCHEMES):
        return address
    has_port = address.rpartition("]:")[2] if address.startswith("[") else address.partition(":")[2]
    if address.count(":") > 1 and not address.startswith("["):
        raise InvalidArgument(f"address: {address!r} has no port; write [{address}]:50051", field="address")
    if not has_port or has_port == address:
        host = address.rstrip(":")
        raise InvalidArgument(f"address: {address!r} has no port; write {host}:50051", field="address")
    return address


def is_this_host(target: str) -> bool:
    """Whether every address of the target is one of this host: a Unix socket, localhost, 127.0.0.0/8, ::1.

    A name that is only known to mean this host by looking it up does not count.
    """
    if target.startswith(("unix:", "unix-abstract:")):
        return True
    # "dns://AUTHORITY/..." asks another host, and is none of these.
    for scheme in ("dns:///", "dns:", "ipv4:", "ipv6:"):
        if target.startswith(scheme):
            target = target[len(scheme) :]
            break
    return all(_is_loopback(each) for each in target.split(","))
