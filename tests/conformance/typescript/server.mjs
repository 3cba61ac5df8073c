// A server for the conformance suite on the official TypeScript SDK: both eras at one address, as the SDK's examples
// join them. Legacy requests belong to a session with a transport of its own; each modern request gets a new server.
//
// It prints `listening on URL` and ends with its standard input.

import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';

import { NodeStreamableHTTPServerTransport, toNodeHandler } from '@modelcontextprotocol/node';
import { McpServer, classifyInboundRequest, createMcpHandler, isInitializeRequest } from '@modelcontextprotocol/server';
import * as z from 'zod';

import { addPlainTools, addPrompts, addResources, addSchemaTools, pause, text } from './content.mjs';
import { addLegacyQuestions, addModernQuestions, states } from './questions.mjs';

const transports = new Map();
const events = [];

/** Keeps what was sent, for clients that reconnect. */
const eventStore = {
    async storeEvent(streamId, message) {
        events.push({ streamId, message });
        return `${events.length - 1}`;
    },
    async replayEventsAfter(last, { send }) {
        const { streamId } = events[Number(last)];
        for (const [number, event] of events.entries()) {
            const isMissed = number > Number(last) && event.streamId === streamId;
            if (isMissed && Object.keys(event.message ?? {}).length > 0) {
                await send(`${number}`, event.message);
            }
        }
        return streamId;
    }
};

function makeServer() {
    const listed = { listChanged: true };
    const capabilities = {
        tools: listed,
        prompts: listed,
        resources: { subscribe: true, ...listed },
        logging: {},
        completions: {}
    };
    const info = { name: 'typescript-conformance-fixture', version: '1.0.0' };
    const server = new McpServer(info, { capabilities, requestState: { verify: states.verify } });
    addPlainTools(server);
    addSchemaTools(server);
    addResources(server);
    addPrompts(server);
    addLegacyQuestions(server);
    addModernQuestions(server);
    addLiveTools(server);
    return server;
}

/** Tools that say something while they run. */
function addLiveTools(server) {
    const add = (name, run) =>
        server.registerTool(name, { description: `Does what ${name} is called for`, inputSchema: z.object({}) }, run);
    add('test_tool_with_logging', async (_given, { mcpReq }) => {
        for (const data of ['started', 'processing', 'completed']) {
            await mcpReq.notify({ method: 'notifications/message', params: { level: 'info', data } });
            await pause(50);
        }
        return text('logged');
    });
    add('test_logging_tool', async (_given, { mcpReq }) => {
        await mcpReq.log('info', 'for clients that want it');
        return text('logged');
    });
    add('test_tool_with_progress', async (_given, { mcpReq }) => {
        const progressToken = mcpReq._meta?.progressToken;
        for (const progress of progressToken === undefined ? [] : [0, 50, 100]) {
            const params = { progressToken, progress, total: 100, message: `step ${progress}` };
            await mcpReq.notify({ method: 'notifications/progress', params });
            await pause(50);
        }
        return text(`${progressToken}`);
    });
    add('test_reconnection', async (_given, { sessionId, mcpReq }) => {
        transports.get(sessionId)?.closeSSEStream(mcpReq.id);
        await pause(100);
        return text('sent after the stream was closed');
    });
    add('test_trigger_tool_change', async (_given, { sessionId }) => {
        sessionId === undefined ? modern.notify.toolsChanged() : server.sendToolListChanged();
        return text('announced');
    });
    add('test_trigger_prompt_change', async (_given, { sessionId }) => {
        sessionId === undefined ? modern.notify.promptsChanged() : server.sendPromptListChanged();
        return text('announced');
    });
}

const modern = createMcpHandler(() => makeServer(), { onerror: error => console.error(error.message) });
const answerModern = toNodeHandler(modern);

async function answerLegacy(request, response, body) {
    const session = request.headers['mcp-session-id'];
    if (session !== undefined) {
        const transport = transports.get(session);
        return transport === undefined
            ? refuse(response, 404, -32_001, 'Session not found')
            : transport.handleRequest(request, response, body);
    }
    if (!isInitializeRequest(body)) {
        return refuse(response, 400, -32_000, 'Bad Request: Session ID required');
    }
    const transport = new NodeStreamableHTTPServerTransport({
        sessionIdGenerator: () => randomUUID(),
        eventStore,
        // As in the polling example of the SDK.
        retryInterval: 2000,
        onsessioninitialized: id => void transports.set(id, transport)
    });
    transport.onclose = () => transports.delete(transport.sessionId);
    await makeServer().connect(transport);
    return transport.handleRequest(request, response, body);
}

function refuse(response, status, code, message) {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ jsonrpc: '2.0', id: null, error: { code, message } }));
}

async function read(request) {
    const chunks = [];
    for await (const chunk of request) {
        chunks.push(chunk);
    }
    return chunks.length === 0 ? undefined : JSON.parse(Buffer.concat(chunks));
}

const isLocal = value => /^(https?:\/\/)?(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/.test(value);

const server = createServer(async (request, response) => {
    try {
        const { host = '', origin = 'http://localhost' } = request.headers;
        if (!isLocal(host) || !isLocal(origin)) {
            return refuse(response, 403, -32_000, 'foreign host or origin');
        }
        const body = await read(request);
        const inbound = classifyInboundRequest({
            httpMethod: request.method,
            protocolVersionHeader: request.headers['mcp-protocol-version'],
            mcpMethodHeader: request.headers['mcp-method'],
            body
        });
        const isModern = request.method === 'POST' && inbound.kind !== 'legacy';
        await (isModern ? answerModern : answerLegacy)(request, response, body);
    } catch (error) {
        console.error(error);
        if (!response.headersSent) {
            refuse(response, 400, -32_700, 'Parse error');
        }
    }
});

server.listen(0, '127.0.0.1', () => console.log(`listening on http://127.0.0.1:${server.address().port}/mcp`));
process.stdin.resume().on('end', () => process.exit());
