"""What several tests need: the real data, where there is any."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Folder of the real data.

    A test that asks for it is skipped where VERITE_DATA is not set.
    """
    home = os.environ.get("VERITE_DATA")
    if not home:
        pytest.skip("needs the real data: set VERITE_DATA to its folder")
    return Path(home)


@pytest.fixture(autouse=True)
def _logging_stays_on() -> Iterator[None]:
    """``verite.cli.main`` silences logging as its process ends; tests go on in it."""
    yield
    logging.disable(logging.NOTSET)
