"""Containers make the promises of the conformance suite, with the system folders of this machine and with an image."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from metier.runtime import ContainerOptions, ContainerRunner, EngineKind, ScriptRunner
from metier.testing import RunnerConformance
from runtime.containers.image import local_image

PODMAN = ContainerRunner(ContainerOptions(engine=EngineKind.PODMAN)).best()
with_podman = pytest.mark.skipif(PODMAN is None, reason="podman does not work here, see `metier doctor`")


@with_podman
class TestContainerRunner(RunnerConformance):
    def new_runner(self) -> ScriptRunner:
        return ContainerRunner(ContainerOptions(engine=EngineKind.PODMAN))


@with_podman
class TestContainerRunnerWithImage(RunnerConformance):
    image = ""
    gives = frozenset(("code", "workspace", "hosts"))  # packages are prepared for this machine's Python

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def _image(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
        with local_image(["podman"], tmp_path_factory.mktemp("image")) as cls.image:
            yield

    def new_runner(self) -> ScriptRunner:
        return ContainerRunner(ContainerOptions(engine=EngineKind.PODMAN, image=self.image))
