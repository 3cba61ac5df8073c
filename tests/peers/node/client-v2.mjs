// The 2.x TypeScript SDK as a client: pinned to 2026-07-28, legacy, or probing. See ../README.md.

import { load, main } from './runner.mjs';

const MODERN = '2026-07-28';

await main(['modern', 'legacy', 'auto'], async (options, inbox, elicitor) => {
  const { Client, StreamableHTTPClientTransport } = await load('@modelcontextprotocol/client');
  const { StdioClientTransport } = await load('@modelcontextprotocol/client/stdio');

  const client = new Client(
    { name: 'peer-node-v2', version: '1.0.0' },
    {
      capabilities: { elicitation: { form: {}, url: {} } },
      // A pin has no fallback: a server of the other era makes `connect` fail, which is what a test wants to see.
      versionNegotiation: { mode: options.era === 'modern' ? { pin: MODERN } : options.era },
    },
  );
  client.setRequestHandler('elicitation/create', (request) => elicitor.answer(request.params));
  client.setNotificationHandler('notifications/resources/updated', ({ params }) => inbox.push({ resource: params.uri }));
  for (const list of ['tools', 'prompts', 'resources']) {
    client.setNotificationHandler(`notifications/${list}/list_changed`, () => inbox.push({ list }));
  }

  const transport = options.url
    ? new StreamableHTTPClientTransport(new URL(options.url), {
        requestInit: options.token ? { headers: { Authorization: `Bearer ${options.token}` } } : {},
      })
    : // The SDK passes on only a few variables by itself; a server under test may be configured by any.
      new StdioClientTransport({ command: options.command[0], args: options.command.slice(1), env: process.env });

  // The runner ends a step first; the SDK's own limit only has to be longer.
  const limit = (extra) => ({ timeout: options.timeoutMs * 10, ...extra });
  const calls = {
    'tools/list': (_, extra) => client.listTools({}, extra),
    'tools/call': (params, extra) => client.callTool(params, extra),
    'resources/list': (_, extra) => client.listResources({}, extra),
    'resources/templates/list': (_, extra) => client.listResourceTemplates({}, extra),
    'resources/read': (params, extra) => client.readResource(params, extra),
    'prompts/list': (_, extra) => client.listPrompts({}, extra),
    'prompts/get': (params, extra) => client.getPrompt(params, extra),
    'completion/complete': (params, extra) => client.complete(params, extra),
  };

  const listen = async (target) => {
    const filter = target.list ? { [`${target.list}ListChanged`]: true } : { resourceSubscriptions: [target.resource] };
    const subscription = await client.listen(filter, limit({}));
    const honoured = subscription.honoredFilter;
    const granted = target.list ? honoured[`${target.list}ListChanged`] : honoured.resourceSubscriptions?.includes(target.resource);
    if (!granted) {
      await subscription.close();
      throw new Error(`the server honours only ${JSON.stringify(honoured)} of ${JSON.stringify(filter)}`);
    }
    return () => subscription.close();
  };

  return {
    async connect() {
      await client.connect(transport, limit({}));
      const server = client.getServerVersion();
      return `protocol ${client.getNegotiatedProtocolVersion()}, server ${server?.name} ${server?.version}`;
    },
    request: (method, params, extra) => calls[method](params, limit(extra)),
    async watch(target) {
      if (client.getProtocolEra() === 'modern') return listen(target);
      // Lists need no subscription in the legacy era: the server sends their changes unasked.
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
