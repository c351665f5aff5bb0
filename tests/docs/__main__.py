"""`python -m tests.docs` brings the generated parts of all pages up to date; with `picture` it draws the README's."""

import sys

from tests.docs.page import documentation
from tests.docs.segments import current

if sys.argv[1:] == ["picture"]:
    from tests.docs.picture import draw

    draw()
for page in documentation():
    text = current(page)
    if text != page.text:
        page.path.write_text(text)
        sys.stderr.write(f"{page.name}: brought up to date\n")
