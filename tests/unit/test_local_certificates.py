"""The certificates of one home folder when several threads and processes need them at once."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

from loomlib.local.aws_names.certificates import Authority, folder, trust

TRUST = """
import sys
from pathlib import Path

from loomlib.local.aws_names.certificates import trust

trust(Path(sys.argv[1]))
"""


def test_threads_and_processes_that_begin_together_trust_one_authority(tmp_path: Path) -> None:
    together = Barrier(8)

    def begin(number: int) -> Path:
        together.wait()
        return trust(tmp_path, name=f"{number % 2}.pem")

    others = [subprocess.Popen([sys.executable, "-c", TRUST, str(tmp_path)]) for _ in range(2)]
    with ThreadPoolExecutor(8) as pool:
        files = set(pool.map(begin, range(8)))
    assert [other.wait() for other in others] == [0, 0]
    authority = Authority(tmp_path).pem
    assert all(file.read_bytes().startswith(authority) for file in files)
    assert (folder(tmp_path) / "trusted.pem").read_bytes().startswith(authority)
    names = {file.name for file in folder(tmp_path).iterdir()}
    assert names == {"authority.pem", "authority.lock", "trusted.pem", "0.pem", "1.pem"}
