"""The report: one file that requests nothing, with a policy of hashes, the same bytes for the same input."""

import base64
import gzip
import hashlib
import json
import re
from typing import Any

from stowplan.web.assets import read_assets
from stowplan.web.report import report


def contents(page: bytes) -> Any:
    """The answers in a report."""
    found = re.search(rb'<script type="text/plain" id="data">([^<]*)</script>', page)
    assert found is not None
    return json.loads(gzip.decompress(base64.b64decode(found[1])))


def test_the_policy_has_the_hashes_of_script_and_style() -> None:
    text = report({"hello": {}}).decode()
    script = re.search(r"<script>(.*?)</script>\n</body>", text, re.S)
    style = re.search(r"<style>(.*?)</style>", text, re.S)
    assert script is not None
    assert style is not None
    for part, name in ((script[1], "script-src"), (style[1], "style-src")):
        digest = base64.b64encode(hashlib.sha256(part.encode()).digest()).decode()
        assert f"{name} 'sha256-{digest}'" in text
    assert "default-src 'none'" in text
    assert "connect-src" not in text


def test_nothing_is_requested() -> None:
    text = report({}).decode()
    head = text[: text.index("<script>")]
    assert not re.search(r'(?:src|href)="(?!#|data:)', head)
    assert not re.search(r"url\((?!data:)", head)
    assert "import(" not in text
    assert not re.search(r"^(import|export) ", text, re.M)


def test_the_answers_are_in_it() -> None:
    answers = {"hello": {"source": "</script><b>&"}, "map": {"nodes": [1, 2]}}
    assert contents(report(answers, "#/pod/a/b")) == {"start": "#/pod/a/b", "answers": answers}


def test_the_title_is_text() -> None:
    assert b"<title>&lt;b&gt;</title>" in report({}, title="<b>")


def test_equal_input_gives_equal_bytes() -> None:
    assert report({"b": 1, "a": 2}) == report({"a": 2, "b": 1})


def test_all_modules_but_those_that_start_the_page_are_in_it() -> None:
    text = report({}).decode()
    for path in read_assets():
        if path.endswith(".js") and path not in ("boot.js", "old.js"):
            variable = "m_" + re.sub(r"\W", "_", path.removesuffix(".js"))
            assert f"const {variable} = (() => {{" in text
