"""Generated parts of pages: between two comments, written by a function of `tests.docs.reference`.

<!-- generated: plugin NodeName -->
…
<!-- end of the generated part -->
"""

import re
from collections.abc import Callable, Mapping

from tests.docs.page import Page
from tests.docs.reference import (
    cli,
    compared,
    configuration,
    explanations,
    metrics,
    plugin_api,
    plugins,
    policy_names,
    python_api,
    scenarios,
)

END = "<!-- end of the generated part -->"
MAKERS: Mapping[str, Callable[..., str]] = {
    "commands": cli.commands,
    "configuration": configuration.fields,
    "metrics": metrics.described,
    "plugin-class": plugin_api.plugin_class,
    "class": plugin_api.describe_class,
    "fields": plugin_api.struct_fields,
    "functions": plugin_api.functions,
    "python": python_api.python_names,
    "errors": python_api.errors,
    "fixtures": python_api.fixtures,
    "comparison": compared.comparison,
    "reason-ids": explanations.reason_ids,
    "answer-records": explanations.records,
    "default-plugins": plugins.overview,
    "optional-plugins": plugins.optional_overview,
    "plugin": plugins.facts,
    "predicates": policy_names.predicates,
    "priorities": policy_names.priorities,
    "scenario-fields": scenarios.fields,
    "scenario-metrics": scenarios.metrics,
}

FILES: Mapping[str, Callable[[], str]] = {
    "docs/reference/explanation.schema.json": explanations.schema,
    "docs/reference/scenario.schema.json": scenarios.schema,
}
"""Files that are generated as a whole, by their path from the root."""

_SEGMENT = re.compile(rf"(<!-- generated: ([^\n]*?) -->\n).*?({re.escape(END)})", re.DOTALL)


def current(page: Page) -> str:
    """The page's text with current generated parts."""

    def made(found: re.Match[str]) -> str:
        maker, *arguments = found[2].split()
        return f"{found[1]}\n{MAKERS[maker](*arguments).strip()}\n\n{found[3]}"

    return _SEGMENT.sub(made, page.text)


def calls(page: Page) -> list[str]:
    """The generators used in a page."""
    return [found[2] for found in _SEGMENT.finditer(page.text)]
