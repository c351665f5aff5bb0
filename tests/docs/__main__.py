"""`python -m tests.docs` updates the generated parts of all pages; with `picture` it draws the README's picture."""

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
        sys.stderr.write(f"{page.name}: updated\n")
