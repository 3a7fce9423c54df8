"""Reads addresses without looking a name up: whether they are complete, and whether they are this host."""

from __future__ import annotations

import functools
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
    """An address that was given, if it is one, or several with commas between them.

    Raises:
        TypeError: it is no text.
        InvalidArgument: it has no port, is a URL or holds a space; several are not all numeric.
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
    if _names_its_scheme(address):
        return address
    if "," in address:
        _listed(address)
        return address
    has_port = address.rpartition("]:")[2] if address.startswith("[") else address.partition(":")[2]
    if address.count(":") > 1 and not address.startswith("["):
        raise InvalidArgument(f"address: {address!r} has no port; write [{address}]:50051", field="address")
    if not has_port or has_port == address:
        host = address.rstrip(":")
        raise InvalidArgument(f"address: {address!r} has no port; write {host}:50051", field="address")
    return address


def _names_its_scheme(address: str) -> bool:
    scheme, colon, _ = address.partition(":")
    return "/" in address or (bool(colon) and scheme in _SCHEMES)


def _listed(address: str) -> str:
    """Several addresses as one gRPC target.

    Raises:
        InvalidArgument: one of them is incomplete; they are not all numeric addresses of one family.
    """
    families: set[int] = set()
    for each in address.split(","):
        checked(each)
        try:
            families.add(ipaddress.ip_address(_host(each)).version)
        except ValueError:
            families.add(0)
    if len(families) > 1 or families == {0}:
        text = (
            f"address: several addresses must be numeric and of one family, as in 10.0.0.1:50051,10.0.0.2:50051, "
            f"not {address}; for a name that has several addresses write dns:///NAME:50051"
        )
        raise InvalidArgument(text, field="address")
    return f"ipv{families.pop()}:{address}"


def target(address: str) -> str:
    """The gRPC target of an address that `checked` let pass."""
    return _listed(address) if "," in address and not _names_its_scheme(address) else address


def may_be_several(address: str) -> bool:
    """Whether calls may reach several servers in turn: one call then uses one connection, and no shared memory."""
    return "," in address or (address.startswith("dns:") and not is_this_host(address))


@functools.lru_cache(64)  # each call of a client asks several times
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
