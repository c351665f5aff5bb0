import asyncio
import json

from tests.unit.serving.fakes import RIGHTS, TOKENS, FakeClient, review_rights, review_tokens

from stowplan.cluster.errors import ApiError
from stowplan.config.options import AccessOptions
from stowplan.observe.access_metrics import AccessMetrics
from stowplan.observe.registry import MetricRegistry
from stowplan.serving.access_control import AccessControl
from stowplan.serving.pages import Page


def refusal(client: FakeClient | None, path: str, header: str = "", method: str = "GET") -> Page | None:
    gate = AccessControl(AccessOptions(), AccessMetrics(MetricRegistry()), client, client)
    return asyncio.run(gate.refusal(method, path, header, None))


def cluster() -> FakeClient:
    return FakeClient({TOKENS: review_tokens({"t": "bob"}), RIGHTS: review_rights({"bob": {"get /metrics"}})})


def test_who_may_comes_in() -> None:
    assert refusal(cluster(), "/metrics", "Bearer t") is None
    assert refusal(None, "/healthz") is None


def test_who_may_not_is_told_so() -> None:
    page = refusal(cluster(), "/metrics", "Bearer t", "DELETE")
    assert page is not None
    assert page.status == 403
    assert json.loads(page.content) == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'forbidden: User "bob" cannot delete path "/metrics"',
        "reason": "Forbidden",
        "details": {},
        "code": 403,
    }


def test_nobody_in_particular_is_told_so_too() -> None:
    page = refusal(None, "/configz")
    assert page is not None
    assert 'User \\"system:anonymous\\" cannot get path \\"/configz\\"' in page.content.decode()


def test_a_bad_token_does_not_even_get_what_is_open_to_all() -> None:
    page = refusal(cluster(), "/healthz", "Bearer bad")
    assert page is not None
    assert (page.status, json.loads(page.content)["message"]) == (401, "Unauthorized")


def test_an_api_server_that_cannot_be_asked() -> None:
    client = FakeClient({RIGHTS: lambda body: ApiError(403, "Forbidden", "not for you")})
    page = refusal(client, "/metrics")
    assert page is not None
    assert page.status == 500
    assert page.content == b'Internal Server Error: "/metrics": Forbidden (403): not for you\n'


def test_a_path_cannot_forge_the_answer() -> None:
    page = refusal(None, '/x"\n}')
    assert page is not None
    assert json.loads(page.content)["code"] == 403


def test_pages_about_all_pods_need_permission_to_list_them() -> None:
    def refused(rights: set[str], header: str = "Bearer t") -> Page | None:
        client = FakeClient({TOKENS: review_tokens({"t": "bob"}), RIGHTS: review_rights({"bob": rights})})
        gate = AccessControl(AccessOptions(), AccessMetrics(MetricRegistry()), client, client)
        return asyncio.run(gate.refusal_of_pods(header, None))

    assert refused({"list pods"}) is None
    page = refused({"get /insight/v1/page/map", "get pods"})
    assert page is not None
    assert (page.status, json.loads(page.content)["message"]) == (
        403,
        'forbidden: User "bob" cannot list resource "pods" in API group "" at the cluster scope',
    )
    bad, nobody = refused({"list pods"}, "Bearer bad"), refused({"list pods"}, "")
    assert (bad is not None and bad.status, nobody is not None and nobody.status) == (401, 403)
