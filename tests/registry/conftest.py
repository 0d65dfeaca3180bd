from __future__ import annotations

import pytest

from registry.servers import ObjectStore, Postgres, shared_object_store, shared_postgres


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Postgres:
    base = tmp_path_factory.getbasetemp()
    return shared_postgres((base if worker_id == "master" else base.parent) / "registry-servers")


@pytest.fixture(scope="session")
def object_store(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> ObjectStore:
    base = tmp_path_factory.getbasetemp()
    return shared_object_store((base if worker_id == "master" else base.parent) / "registry-servers")
