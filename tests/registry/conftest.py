from __future__ import annotations

import pytest

from registry.servers import ObjectStore, shared_object_store


@pytest.fixture(scope="session")
def object_store(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> ObjectStore:
    base = tmp_path_factory.getbasetemp()
    return shared_object_store((base if worker_id == "master" else base.parent) / "registry-servers")
