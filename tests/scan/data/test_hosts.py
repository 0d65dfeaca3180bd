"""The reputation of hosts."""

from __future__ import annotations

from metier.scan.data.hosts import HostReputation, host_reputation
from metier.scan.purpose import Purpose


def test_a_name_below_a_shared_host_is_the_skills_own_if_it_bears_its_name() -> None:
    purpose = Purpose(name="latchshot-page-capture")
    assert host_reputation("latchshot.fly.dev", purpose) is HostReputation.OWN
    assert host_reputation("quarvex.fly.dev", purpose) is HostReputation.SHARED
    assert host_reputation("fly.dev", purpose) is HostReputation.SHARED
