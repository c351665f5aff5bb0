"""The extender process of the benchmark: the server of `stowplan extender` with the benchmark's plugin."""

import sys

from stowplan.bench.plugins import ZoneAndRoom
from stowplan.extender.handlers import GroupMember
from stowplan.extender.server.process import run


def main() -> None:
    run([GroupMember(ZoneAndRoom)], port=int(sys.argv[1]))


if __name__ == "__main__":
    main()
