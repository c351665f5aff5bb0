"""`python -m tests.web.browser` installs Chromium and axe-core; with `screenshots` it makes the documentation's
pictures, all or those named; with `frames` it measures frames of a large map."""

import subprocess
import sys

from tests.web.browser.chromium import install


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["screenshots"]:
        from tests.web.browser.pictures import draw_all

        draw_all(*arguments[1:])
        return 0
    if arguments[:1] == ["frames"]:
        from tests.web.browser.frames import report

        report()
        return 0
    try:
        there = install(lambda line: sys.stderr.write(f"browser: {line}\n"))
    except (subprocess.SubprocessError, OSError, RuntimeError) as problem:
        sys.stderr.write(f"browser: {problem}\n")
        there = False
    return 0 if there or "--if-possible" in arguments else 1


sys.exit(main(sys.argv[1:]))
