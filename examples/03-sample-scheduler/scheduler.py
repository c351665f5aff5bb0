#!/usr/bin/env python3
"""A scheduler with kube-scheduler's flags and configuration, and one additional plugin."""

import sys

from plugin import SamplePlugin

from stowplan import scheduler_command, with_plugin

if __name__ == "__main__":
    sys.exit(scheduler_command(with_plugin("sample-plugin", SamplePlugin))())
