"""`stowplan web --recording`: a run that `-o html` recorded, on the page of this version."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

import msgspec
from aiohttp import web

from stowplan.cli.streams import read, shown
from stowplan.errors import InputError
from stowplan.serving.page_server import page_response
from stowplan.serving.pages import Page, PageRequest, Pages, status_page
from stowplan.web.report import ANSWER_PATH_SAFE, InvalidReportError, report_answers
from stowplan.web.routes import API_PREFIX, compressed
from stowplan.web.wire import Hello

_NOT_RECORDED = status_page(404, "NotFound", "the recording does not contain the answer")


def read_recording(file: str) -> dict[str, bytes]:
    """The answers of a file by their path. Raises InputError."""
    try:
        answers = {path: bytes(answer) for path, answer in report_answers(read(file)).items()}
        hello = msgspec.json.decode(answers["hello"], type=Hello)
    except (InvalidReportError, msgspec.DecodeError, KeyError) as problem:
        raise InputError(f"{shown(file)}: a file that 'stowplan simulate -o html' wrote is expected") from problem
    answers["hello"] = msgspec.json.encode(msgspec.structs.replace(hello, kind="recording"))
    return answers


def add_recorded_pages(pages: Pages, answers: Mapping[str, bytes]) -> None:
    """Serves the answers at the paths at which a server computes them."""

    async def answer(request: PageRequest) -> Page:
        if request.method not in ("GET", "HEAD"):
            return status_page(405, "MethodNotAllowed", "a recording answers GET requests only")
        segments = request.path.removeprefix(API_PREFIX).split("/")
        query = "&".join(
            f"{name}={values[0]}" if values[0] else name for name, values in request.query.items() if values
        )
        path = "/".join(quote(segment, safe=ANSWER_PATH_SAFE) for segment in segments)
        found = answers.get(f"{path}?{query}" if query else path)
        return _NOT_RECORDED if found is None else await compressed(request, found)

    pages.add_async(API_PREFIX, answer)


async def no_stream(request: web.BaseRequest, headers: Mapping[str, str]) -> web.StreamResponse:
    """Nothing changes in a recording."""
    return page_response(_NOT_RECORDED, headers)
