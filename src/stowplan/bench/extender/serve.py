"""Our extender as the benchmark starts it: the server that `stowplan extender` runs, with the benchmark's plugin."""

import sys

from stowplan.bench.plugins import ZoneAndRoom
from stowplan.extender.handlers import GroupMember
from stowplan.extender.server.process import run


def main() -> None:
    run([GroupMember(ZoneAndRoom)], port=int(sys.argv[1]))


if __name__ == "__main__":
    main()
