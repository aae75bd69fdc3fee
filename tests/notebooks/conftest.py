"""Reports whose `environment` is `kernel_environment()` run in kernels that are forked from a prepared process.

The kernels of `test_run_report`, and the one that `test_report_killed` kills, start as they do for a user.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kernel_template import kernel_template


@pytest.fixture(scope="package", autouse=True)
def prepared_kernels() -> Iterator[None]:
    with kernel_template() as address, pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOOM_KERNEL_TEMPLATE", address)
        yield
