// The 1.x TypeScript SDK as a client: legacy era only. See ../README.md.

import { load, main } from './runner.mjs';

await main(['legacy'], async (options, inbox, elicitor) => {
  const { Client } = await load('@modelcontextprotocol/sdk/client/index.js');
  const { StdioClientTransport } = await load('@modelcontextprotocol/sdk/client/stdio.js');
  const { SSEClientTransport } = await load('@modelcontextprotocol/sdk/client/sse.js');
  const { StreamableHTTPClientTransport } = await load('@modelcontextprotocol/sdk/client/streamableHttp.js');
  const schemas = await load('@modelcontextprotocol/sdk/types.js');

  const client = new Client(
    { name: 'peer-node-v1', version: '1.0.0' },
    { capabilities: { elicitation: { form: {}, url: {} } } },
  );
  client.setRequestHandler(schemas.ElicitRequestSchema, (request) => elicitor.answer(request.params));
  client.setNotificationHandler(schemas.ResourceUpdatedNotificationSchema, ({ params }) => inbox.push({ resource: params.uri }));
  client.setNotificationHandler(schemas.ToolListChangedNotificationSchema, () => inbox.push({ list: 'tools' }));
  client.setNotificationHandler(schemas.PromptListChangedNotificationSchema, () => inbox.push({ list: 'prompts' }));
  client.setNotificationHandler(schemas.ResourceListChangedNotificationSchema, () => inbox.push({ list: 'resources' }));

  const HttpTransport = options.sse ? SSEClientTransport : StreamableHTTPClientTransport;
  const transport = options.url
    ? new HttpTransport(new URL(options.url), {
        requestInit: options.token ? { headers: { Authorization: `Bearer ${options.token}` } } : {},
      })
    : // The SDK passes on only a few variables by itself; a server under test may be configured by any.
      new StdioClientTransport({ command: options.command[0], args: options.command.slice(1), env: process.env });

  // The client keeps the negotiated version to itself but tells every transport that asks for it.
  let version;
  const inherited = transport.setProtocolVersion?.bind(transport);
  transport.setProtocolVersion = (negotiated) => {
    version = negotiated;
    inherited?.(negotiated);
  };

  // The runner ends a step first; the SDK's own limit only has to be longer.
  const limit = (extra) => ({ timeout: options.timeoutMs * 10, ...extra });
  const listAll = async (list, key, extra) => {
    const items = [];
    let cursor;
    do {
      const page = await list.call(client, cursor ? { cursor } : {}, extra);
      items.push(...page[key]);
      cursor = page.nextCursor;
    } while (cursor);
    return { [key]: items };
  };
  const calls = {
    'tools/list': (_, extra) => listAll(client.listTools, 'tools', extra),
    'tools/call': (params, extra) => client.callTool(params, undefined, extra),
    'resources/list': (_, extra) => listAll(client.listResources, 'resources', extra),
    'resources/templates/list': (_, extra) => listAll(client.listResourceTemplates, 'resourceTemplates', extra),
    'resources/read': (params, extra) => client.readResource(params, extra),
    'prompts/list': (_, extra) => listAll(client.listPrompts, 'prompts', extra),
    'prompts/get': (params, extra) => client.getPrompt(params, extra),
    'completion/complete': (params, extra) => client.complete(params, extra),
  };

  return {
    async connect() {
      await client.connect(transport, limit({}));
      const server = client.getServerVersion();
      return `protocol ${version}, server ${server?.name} ${server?.version}`;
    },
    request: (method, params, extra) => calls[method](params, limit(extra)),
    async watch(target) {
      // Lists need no subscription in this era: the server sends their changes unasked.
      if (target.list) return async () => {};
      await client.subscribeResource({ uri: target.resource }, limit({}));
      return async () => void (await client.unsubscribeResource({ uri: target.resource }, limit({})));
    },
    async close() {
      const session = transport.sessionId;
      await transport.terminateSession?.();
      await client.close();
      return session ? 'closed, session ended' : 'closed';
    },
    abandon: () => transport.close(),
  };
});
