"""The help of `stowplan scheduler` beside kube-scheduler's."""

import subprocess

import pytest

from stowplan.config.flags.table import EARLIER, FLAGS
from stowplan.testing.binaries import require

pytestmark = [pytest.mark.e2e, pytest.mark.since("v1.36")]


def test_flags_have_kube_schedulers_help_texts() -> None:
    (binary,) = require(["kube-scheduler"])
    text = subprocess.run([binary, "--help"], capture_output=True, text=True, check=True).stdout
    text = " ".join(text.split())
    for name, flag in FLAGS.items():
        if not flag.own_help:
            assert name not in EARLIER
            assert f"--{name} {flag.kind.name}".rstrip() in text
            assert flag.help in text, name
