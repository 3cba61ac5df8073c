"""The 2.x Python SDK as a client: pinned to 2026-07-28, legacy, or probing. See ../README.md."""

import os
import sys
import warnings
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from plan import Options, require_mcp

require_mcp(2)

import anyio  # noqa: E402
import mcp.types as types  # noqa: E402
from mcp import Client, StdioServerParameters  # noqa: E402
from mcp.client.stdio import stdio_client  # noqa: E402
from mcp.client.streamable_http import streamable_http_client  # noqa: E402
from mcp.client.subscriptions import (  # noqa: E402
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ToolsListChanged,
)
from mcp.shared._httpx_utils import create_mcp_http_client  # noqa: E402
from mcp.shared.exceptions import MCPDeprecationWarning  # noqa: E402
from runner import Elicitor, Inbox, main  # noqa: E402

# Legacy subscriptions are deprecated in this SDK and still what `--era legacy` has to test.
warnings.filterwarnings("ignore", category=MCPDeprecationWarning)

MODERN = "2026-07-28"
LISTS = {
    types.ToolListChangedNotification: "tools",
    types.PromptListChangedNotification: "prompts",
    types.ResourceListChangedNotification: "resources",
    # The same three as a `subscriptions/listen` stream delivers them.
    ToolsListChanged: "tools",
    PromptsListChanged: "prompts",
    ResourcesListChanged: "resources",
}


class ClientV2:
    def __init__(self, options: Options, inbox: Inbox, elicitor: Elicitor) -> None:
        self.options, self.inbox, self.elicitor = options, inbox, elicitor

    def transport(self) -> AbstractAsyncContextManager[Any]:
        if self.options.url is None:
            command, *args = self.options.command
            # The SDK passes on only a few variables by itself; a server under test may be configured by any.
            return stdio_client(StdioServerParameters(command=command, args=args, env=dict(os.environ)))
        return self.http_transport(self.options.url)

    @asynccontextmanager
    async def http_transport(self, url: str) -> AsyncIterator[Any]:
        token = self.options.token
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        async with create_mcp_http_client(headers=headers) as http_client:
            http_client.event_hooks = {"response": [self.note_refusal]}
            async with streamable_http_client(url, http_client=http_client) as streams:
                yield streams

    async def note_refusal(self, response: Any) -> None:
        # This SDK turns a refusal without a JSON-RPC body, such as a 401, into one nameless error.
        if response.status_code >= 400:
            sys.stderr.write(f"HTTP {response.status_code} for {response.request.method} {response.request.url}\n")

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[str]:
        modern = self.options.era == "modern"
        async with Client(
            self.transport(),
            mode=MODERN if modern else self.options.era,
            # The runner ends a step first; the SDK's own limit only has to be longer.
            read_timeout_seconds=self.options.timeout_s * 10,
            elicitation_callback=self.elicit,
            message_handler=self.receive,
            client_info=types.Implementation(name="peer-python-v2", version="1.0.0"),
        ) as self.client:
            info = self.client.server_info
            server = info and f"{info.name} {info.version}"
            if modern:
                # A pin sends nothing at all; without this a dead or legacy server would pass as connected.
                discovered = await self.client.session.send_discover(MODERN)
                if MODERN not in discovered["supportedVersions"]:
                    raise AssertionError(f"the server offers {discovered['supportedVersions']}, not {MODERN}")
                stamp = discovered.get("_meta", {}).get(types.SERVER_INFO_META_KEY, {})
                server = f"{stamp.get('name')} {stamp.get('version')}"
            yield f"protocol {self.client.protocol_version}, server {server}"

    async def elicit(self, _context: Any, params: Any) -> types.ElicitResult:
        return types.ElicitResult(**self.elicitor.answer(getattr(params, "mode", None)))

    async def receive(self, message: Any) -> None:
        # Events of a `subscriptions/listen` stream come here too, but only the stream's
        # own iterator shows that the client took them for events of that stream.
        if self.is_modern():
            return
        if isinstance(message, types.ResourceUpdatedNotification):
            self.inbox.push({"resource": message.params.uri})
        elif name := LISTS.get(type(message)):
            self.inbox.push({"list": name})

    def is_modern(self) -> bool:
        return self.client.protocol_version == MODERN

    async def request(self, method: str, params: dict[str, Any], progress: Any) -> Any:
        result = await self.send(method, params, progress)
        return result if isinstance(result, dict) else result.model_dump(by_alias=True, mode="json", exclude_none=True)

    async def send(self, method: str, params: dict[str, Any], progress: Any) -> Any:
        client = self.client
        match method:
            case "tools/call":
                return await client.call_tool(params["name"], params.get("arguments"), progress_callback=progress)
            case "resources/read":
                return await client.read_resource(params["uri"])
            case "prompts/get":
                return await client.get_prompt(params["name"], params.get("arguments"))
            case "completion/complete":
                kind = types.PromptReference if params["ref"]["type"] == "ref/prompt" else types.ResourceTemplateReference
                context = params.get("context", {}).get("arguments")
                return await client.complete(kind(**params["ref"]), params["argument"], context)
            case "tools/list":
                return await self.list_all(client.list_tools, "tools")
            case "prompts/list":
                return await self.list_all(client.list_prompts, "prompts")
            case "resources/list":
                return await self.list_all(client.list_resources, "resources")
            case "resources/templates/list":
                return await self.list_all(client.list_resource_templates, "resourceTemplates")
        raise AssertionError(f"method {method} has no call")

    async def list_all(self, list_page: Any, key: str) -> dict[str, Any]:
        items: list[Any] = []
        cursor = None
        while True:
            page = (await list_page(cursor=cursor)).model_dump(by_alias=True, mode="json", exclude_none=True)
            items += page[key]
            cursor = page.get("nextCursor")
            if not cursor:
                return {key: items}

    @asynccontextmanager
    async def watched(self, target: dict[str, str]) -> AsyncIterator[None]:
        if self.is_modern():
            async with self.listened(target):
                yield
        elif "list" in target:
            # Lists need no subscription in the legacy era: the server sends their changes unasked.
            yield
        else:
            await self.client.subscribe_resource(target["resource"])
            yield
            await self.client.unsubscribe_resource(target["resource"])

    @asynccontextmanager
    async def listened(self, target: dict[str, str]) -> AsyncIterator[None]:
        if "list" in target:
            key, value = f"{target['list']}_list_changed", True
        else:
            key, value = "resource_subscriptions", [target["resource"]]
        async with self.client.listen(**{key: value}) as subscription:
            if getattr(subscription.honored, key) != value:
                raise AssertionError(f"the server honours {subscription.honored}, asked for {key}={value}")

            async def forward() -> None:
                async for event in subscription:
                    is_update = isinstance(event, ResourceUpdated)
                    self.inbox.push({"resource": event.uri} if is_update else {"list": LISTS[type(event)]})

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(forward)
                yield
                tasks.cancel_scope.cancel()


main(["modern", "legacy", "auto"], ClientV2)
