"""The protobuf messages, made at import from serialized descriptors; generate.py says why.

The descriptors live in a pool of their own: a program that holds other stubs of the same .proto files, or another
version of them, loads both.
"""

from __future__ import annotations

import pkgutil
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper

_pool = descriptor_pool.DescriptorPool()
try:
    _data = pkgutil.get_data("corank", "v1/descriptors.binpb")
except FileNotFoundError:
    raise ImportError("corank: the messages are missing; run `python client/python/generate.py`") from None
for _file in descriptor_pb2.FileDescriptorSet.FromString(_data or b"").file:
    _pool.AddSerializedFile(_file.SerializeToString())


def message(name: str) -> Any:
    """The class of the message of this full name."""
    return message_factory.GetMessageClass(_pool.FindMessageTypeByName(name))


def publish(proto: str, module: dict[str, Any]) -> None:
    """Puts the messages, enums and enum values of a .proto file into the namespace of a module."""
    file = _pool.FindFileByName(proto)
    module["DESCRIPTOR"] = file
    for name, descriptor in file.message_types_by_name.items():
        module[name] = message_factory.GetMessageClass(descriptor)
    for name, enum in file.enum_types_by_name.items():
        module[name] = EnumTypeWrapper(enum)
        module.update({value.name: value.number for value in enum.values})
