"""A server on `mcp` 2.x over stdio, as its documentation shows one: it speaks both eras and asks by `ctx.elicit`.

The library refuses that in the modern era, so only legacy clients can be asked.
"""

from mcp.server.mcpserver import Context, MCPServer
from pydantic import BaseModel

server = MCPServer("asking")


class Name(BaseModel):
    name: str


@server.tool()
async def ask(ctx: Context) -> str:
    """Asks the user for a name."""
    result = await ctx.elicit("What is your name?", Name)
    return f"hello {result.data.name}" if result.action == "accept" else result.action


@server.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


server.run("stdio")
