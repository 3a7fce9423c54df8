"""Changes of a running release that Kubernetes makes hard: fields that it never changes, names that it refuses, nodes
that repel pods.
"""

from __future__ import annotations

import pytest
from control_plane import ControlPlane
from releases import SETS, Release, make_secrets, namespace, values


def test_a_running_release_takes_every_set_in_turn(plane: ControlPlane) -> None:
    with namespace(plane, "in-turn", "privileged") as where:
        release = Release(plane, where)
        for example in ("secure", "mutual-tls"):
            make_secrets(plane, where, example)
        release.helm("install")
        for example in SETS[1:]:
            release.helm("upgrade", *values(example), "--history-max=0")
            release.wait_settled()
        release.helm("rollback", "1")
        release.wait_settled()
        release.helm("uninstall")
        release.plane.wait_until("the objects that are left", set(), release.objects)


@pytest.mark.parametrize(
    ("example", "setting"),
    [
        ("dra", "gpu.count=1"),
        ("dra", "gpu.claim.selectors=null"),
        ("cpu", "service.type=NodePort"),
        ("cpu", "service.port=443"),
        ("cpu", "service.headless=false"),
        ("cpu", "serviceAccount.create=true"),
        ("cpu", "networkPolicy.enabled=false"),
        ("cpu", "minReadySeconds=1"),
        ("cpu", "podLabels.team=search"),
        ("gateway", "grpcRoute.hostnames=null"),
    ],
)
def test_a_running_release_takes_a_changed_value(plane: ControlPlane, example: str, setting: str) -> None:
    with namespace(plane, "changed") as where:
        release = Release(plane, where)
        release.helm("install", *values(example))
        release.helm("upgrade", *values(example), "--set", setting)
        release.wait_settled()
        release.helm("rollback")
        release.wait_settled()


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("a" * 53, []),
        ("team.search", []),
        ("corank", [f"fullnameOverride={'b' * 52}"]),
        ("corank", [f"nameOverride={'c' * 52}"]),
        ("corank", ["nameOverride=a.b"]),
    ],
)
def test_names_that_the_schema_takes_are_ones_of_kubernetes(
    plane: ControlPlane, name: str, settings: list[str]
) -> None:
    with namespace(plane, "names") as where:
        release = Release(plane, where, name)
        options = [f"--set={setting}" for setting in settings]
        release.helm("install", *options, "--set=monitoring.dashboard.enabled=true,serviceAccount.create=true")
        release.wait_settled()
        assert "Succeeded" in release.helm("test")
        release.helm("uninstall")


def test_helm_test_passes_where_every_node_has_gpus(plane: ControlPlane) -> None:
    with namespace(plane, "gpus-only") as where:
        release = Release(plane, where)
        plane.kubectl("cordon", "cpu-1")
        try:
            release.helm("install")
            assert "Succeeded" in release.helm("test")
        finally:
            plane.kubectl("uncordon", "cpu-1")


def test_notes_say_which_secrets_are_missing(plane: ControlPlane) -> None:
    with namespace(plane, "notes") as where:
        release = Release(plane, where)
        told = release.helm("install", *values("mutual-tls"), "--set=tokens.secretName=corank-tokens")
        assert "MISSING: the secret corank-tls" in told
        assert "MISSING: the secret corank-tokens" in told
        make_secrets(plane, where, "secure")
        assert "MISSING" not in release.helm("upgrade", "--reuse-values")
