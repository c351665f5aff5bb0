"""`python -m tests.docs` updates the generated parts of all pages; with `picture` it draws the README's picture."""

import sys

from tests.docs.notebooks import executed, notebooks
from tests.docs.page import ROOT, documentation
from tests.docs.segments import FILES, current
from tests.docs.translations import pairs, with_blocks_of

if sys.argv[1:] == ["picture"]:
    from tests.docs.picture import draw

    draw()
for page in documentation():
    text = current(page)
    if text != page.text:
        page.path.write_text(text)
        sys.stderr.write(f"{page.name}: updated\n")
for original, translation in pairs():
    text = with_blocks_of(original, translation)
    if text != translation.text:
        translation.path.write_text(text)
        sys.stderr.write(f"{translation.name}: updated\n")
for name, make in FILES.items():
    path = ROOT / name
    if not path.exists() or path.read_text() != make():
        path.write_text(make())
        sys.stderr.write(f"{name}: updated\n")
for path in notebooks():
    text = executed(path)
    if text != path.read_text():
        path.write_text(text)
        sys.stderr.write(f"{path.relative_to(ROOT)}: updated\n")
