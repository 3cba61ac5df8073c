"""The 1.x Python SDK as a client: legacy era only. See ../README.md."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

from plan import Options, require_mcp

require_mcp(1)

import anyio  # noqa: E402
import mcp.types as types  # noqa: E402
from mcp import ClientSession, StdioServerParameters, stdio_client  # noqa: E402
from mcp.client.sse import sse_client  # noqa: E402
from mcp.client.streamable_http import streamable_http_client  # noqa: E402
from mcp.shared._httpx_utils import create_mcp_http_client  # noqa: E402
from pydantic import AnyUrl  # noqa: E402
from runner import Elicitor, Inbox, main  # noqa: E402

LISTS = {
    types.ToolListChangedNotification: "tools",
    types.PromptListChangedNotification: "prompts",
    types.ResourceListChangedNotification: "resources",
}


class ClientV1:
    def __init__(self, options: Options, inbox: Inbox, elicitor: Elicitor) -> None:
        self.options, self.inbox, self.elicitor = options, inbox, elicitor

    @asynccontextmanager
    async def transport(self) -> AsyncIterator[tuple[Any, Any]]:
        if self.options.url is None:
            command, *args = self.options.command
            # The SDK passes on only a few variables by itself; a server under test may be configured by any.
            async with stdio_client(StdioServerParameters(command=command, args=args, env=dict(os.environ))) as streams:
                yield streams
            return
        token = self.options.token
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        if self.options.sse:
            async with sse_client(self.options.url, headers=headers) as streams:
                yield streams
            return
        async with create_mcp_http_client(headers=headers) as http_client:
            async with streamable_http_client(self.options.url, http_client=http_client) as (read, write, _):
                yield read, write

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[str]:
        # The runner ends a step first; the SDK's own limit only has to be longer.
        limit = timedelta(seconds=self.options.timeout_s * 10)
        async with self.transport() as (read, write):
            async with ClientSession(
                read,
                write,
                read_timeout_seconds=limit,
                elicitation_callback=self.elicit,
                message_handler=self.receive,
                client_info=types.Implementation(name="peer-python-v1", version="1.0.0"),
            ) as self.session:
                result = await self.session.initialize()
                server = result.serverInfo
                yield f"protocol {result.protocolVersion}, server {server.name} {server.version}"

    async def elicit(self, _context: Any, params: Any) -> types.ElicitResult:
        return types.ElicitResult(**self.elicitor.answer(getattr(params, "mode", None)))

    async def receive(self, message: Any) -> None:
        # The SDK hands failures of the transport to the same callback.
        if isinstance(message, Exception) or not isinstance(message, types.ServerNotification):
            return
        notification = message.root
        if isinstance(notification, types.ResourceUpdatedNotification):
            self.inbox.push({"resource": str(notification.params.uri)})
        elif name := LISTS.get(type(notification)):
            self.inbox.push({"list": name})

    async def request(self, method: str, params: dict[str, Any], progress: Any) -> Any:
        # This SDK does not tell the server that a call was given up, so the notification
        # is sent here; the next request takes this id.
        request_id = self.session._request_id
        try:
            result = await self.send(method, params, progress)
        except anyio.get_cancelled_exc_class():
            with anyio.move_on_after(5, shield=True):
                cancelled = types.CancelledNotificationParams(requestId=request_id, reason="cancelled by the plan")
                notification = types.CancelledNotification(params=cancelled)
                await self.session.send_notification(types.ClientNotification(notification))
            raise
        return result if isinstance(result, dict) else result.model_dump(by_alias=True, mode="json", exclude_none=True)

    async def send(self, method: str, params: dict[str, Any], progress: Any) -> Any:
        session = self.session
        match method:
            case "tools/call":
                return await session.call_tool(params["name"], params.get("arguments"), progress_callback=progress)
            case "resources/read":
                return await session.read_resource(AnyUrl(params["uri"]))
            case "prompts/get":
                return await session.get_prompt(params["name"], params.get("arguments"))
            case "completion/complete":
                kind = types.PromptReference if params["ref"]["type"] == "ref/prompt" else types.ResourceTemplateReference
                context = params.get("context", {}).get("arguments")
                return await session.complete(kind(**params["ref"]), params["argument"], context)
            case "tools/list":
                return await self.list_all(session.list_tools, "tools")
            case "prompts/list":
                return await self.list_all(session.list_prompts, "prompts")
            case "resources/list":
                return await self.list_all(session.list_resources, "resources")
            case "resources/templates/list":
                return await self.list_all(session.list_resource_templates, "resourceTemplates")
        raise AssertionError(f"method {method} has no call")

    async def list_all(self, list_page: Any, key: str) -> dict[str, Any]:
        items: list[Any] = []
        cursor = None
        while True:
            page = await list_page(params=types.PaginatedRequestParams(cursor=cursor))
            found = page.model_dump(by_alias=True, mode="json", exclude_none=True)
            items += found[key]
            cursor = found.get("nextCursor")
            if not cursor:
                return {key: items}

    @asynccontextmanager
    async def watched(self, target: dict[str, str]) -> AsyncIterator[None]:
        # Lists need no subscription in this era: the server sends their changes unasked.
        if "list" in target:
            yield
            return
        uri = AnyUrl(target["resource"])
        await self.session.subscribe_resource(uri)
        yield
        await self.session.unsubscribe_resource(uri)


main(["legacy"], ClientV1)
