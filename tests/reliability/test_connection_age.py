"""Clients of an old connection connect again, so that servers which started later get their share of the load."""

from __future__ import annotations

import pathlib

import grpc
import pytest
from corank.testing import LocalServer
from e2e_support import SERVING, health, watch_health
from test_rollout import FLAGS, Load, sort_message
from waiting import wait_until


def test_clients_connect_again_when_their_connection_is_old(corankd: pathlib.Path) -> None:
    """So a server that starts later gets its share. No call fails when a connection ends."""
    flags = [*FLAGS, "--max-connection-age=1s", "--max-connection-age-grace=20s"]
    with LocalServer(corankd, flags) as server, grpc.insecure_channel(server.address) as channel:
        states: list[grpc.ChannelConnectivity] = []
        channel.subscribe(states.append)
        with Load(sort_message, server.address, callers=4) as load:
            wait_until(lambda: connected_again(channel, states), "the channel is connected for the third time")
        assert not load.failures, load.failures
        assert load.done > 0


def connected_again(channel: grpc.Channel, states: list[grpc.ChannelConnectivity]) -> bool:
    """Calls on the channel, and says whether it has been connected three times."""
    assert health(channel, "ready") == SERVING
    return states.count(grpc.ChannelConnectivity.READY) >= 3


def test_old_connection_ends_its_streams_after_the_grace(corankd: pathlib.Path) -> None:
    flags = [*FLAGS, "--max-connection-age=1s", "--max-connection-age-grace=1s"]
    with LocalServer(corankd, flags) as server, grpc.insecure_channel(server.address) as channel:
        states = watch_health(channel, "ready")
        assert next(states) == SERVING
        with pytest.raises(grpc.RpcError) as caught:
            next(states)
        assert isinstance(caught.value, grpc.Call)
        assert caught.value.code() == grpc.StatusCode.UNAVAILABLE
