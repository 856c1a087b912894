"""What several tests need: the real data, where there is any."""

from __future__ import annotations

import os
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
