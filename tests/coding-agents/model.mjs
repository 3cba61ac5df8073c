// A model that thinks what it is told to: the HTTP interfaces of three vendors, and a script behind them. See README.md.
//
// Standard output has one JSON object per line: first {"port": N}, then {"tools": [...], "result": ...} for
// every turn that an agent asks for; a result is {"text": ..., "isError": ...}. Standard input has one step per line, which answers the oldest turn:
// {"call": TOOL, "arguments": {...}} or {"say": TEXT}. A turn waits for its step.

import { createServer } from 'node:http';
import { createInterface } from 'node:readline';

const steps = [];
const waiting = [];
createInterface({ input: process.stdin })
  .on('line', (line) => {
    const step = JSON.parse(line);
    const next = waiting.shift();
    if (next) next(step);
    else steps.push(step);
  })
  // The test is over, or was killed.
  .on('close', () => process.exit());

const nextStep = () => (steps.length ? Promise.resolve(steps.shift()) : new Promise((resolve) => waiting.push(resolve)));
const print = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);
const log = (text) => process.env.MODEL_LOG && process.stderr.write(`${text}\n`);

let nCalls = 0;

/** The text of a tool result, however its vendor wraps it. */
function textOf(value) {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value.map(textOf).join('');
  if (typeof value?.text === 'string') return value.text;
  return JSON.stringify(value);
}

const tokens = 10;

/** https://docs.anthropic.com/en/api/messages */
const anthropic = {
  handles: (path) => path === '/v1/messages',
  tools: (request) => (request.tools ?? []).map((tool) => ({ name: tool.name })),
  result(request) {
    const last = request.messages.findLast((message) => message.role === 'user');
    const results = Array.isArray(last?.content) ? last.content.filter((block) => block.type === 'tool_result') : [];
    const result = results.at(-1);
    return result ? { text: textOf(result.content), isError: result.is_error === true } : null;
  },
  answer(request, step, id) {
    const block = step.call
      ? { type: 'tool_use', id, name: step.call.name, input: {} }
      : { type: 'text', text: '' };
    const delta = step.call
      ? { type: 'input_json_delta', partial_json: JSON.stringify(step.arguments) }
      : { type: 'text_delta', text: step.say };
    const reason = step.call ? 'tool_use' : 'end_turn';
    const usage = { input_tokens: tokens, output_tokens: tokens };
    const message = { id: `msg_${id}`, type: 'message', role: 'assistant', model: request.model, content: [], stop_reason: null, stop_sequence: null, usage };
    if (!request.stream) {
      const content = step.call ? { ...block, input: step.arguments } : { type: 'text', text: step.say };
      return { ...message, content: [content], stop_reason: reason };
    }
    return [
      { type: 'message_start', message },
      { type: 'content_block_start', index: 0, content_block: block },
      { type: 'content_block_delta', index: 0, delta },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: reason, stop_sequence: null }, usage },
      { type: 'message_stop' },
    ];
  },
};

/** https://platform.openai.com/docs/api-reference/responses */
const openai = {
  handles: (path) => path === '/v1/responses',
  tools: (request) =>
    (request.tools ?? []).flatMap((tool) =>
      tool.type === 'namespace'
        ? tool.tools.map((inner) => ({ name: inner.name, namespace: tool.name }))
        : [{ name: tool.name ?? tool.type }],
    ),
  result(request) {
    const last = request.input.at(-1);
    if (last?.type !== 'function_call_output') return null;
    const text = textOf(last.output);
    // Codex marks failures only in its own words.
    return { text, isError: /^(tool call error|tool call failed|err)/i.test(text) };
  },
  answer(request, step, id) {
    const item = step.call
      ? { type: 'function_call', id: `fc_${id}`, call_id: id, ...step.call, arguments: JSON.stringify(step.arguments) }
      : { type: 'message', id: `msg_${id}`, role: 'assistant', content: [{ type: 'output_text', text: step.say }] };
    const usage = { input_tokens: tokens, input_tokens_details: null, output_tokens: tokens, output_tokens_details: null, total_tokens: 2 * tokens };
    return [
      { type: 'response.created', response: { id: `resp_${id}` } },
      { type: 'response.output_item.added', output_index: 0, item },
      { type: 'response.output_item.done', output_index: 0, item },
      { type: 'response.completed', response: { id: `resp_${id}`, usage } },
    ];
  },
};

/** https://ai.google.dev/api/generate-content */
const google = {
  handles: (path) => /:(stream)?[gG]enerateContent$/.test(path),
  tools: (request) =>
    (request.tools ?? []).flatMap((tool) => (tool.functionDeclarations ?? []).map(({ name }) => ({ name }))),
  result(request) {
    const part = request.contents.at(-1).parts.findLast((part) => part.functionResponse);
    if (!part) return null;
    const { output, error } = part.functionResponse.response;
    return { text: textOf(output ?? error ?? ''), isError: error !== undefined };
  },
  answer(request, step, id, path) {
    const part = step.call ? { functionCall: { id, name: step.call.name, args: step.arguments } } : { text: step.say };
    const usageMetadata = { promptTokenCount: tokens, candidatesTokenCount: tokens, totalTokenCount: 2 * tokens };
    const chunk = { candidates: [{ index: 0, content: { role: 'model', parts: [part] }, finishReason: 'STOP' }], usageMetadata, modelVersion: 'scripted' };
    return path.endsWith(':streamGenerateContent') ? [chunk] : chunk;
  },
};

const VENDORS = [anthropic, openai, google];

/** What agents ask on the side (titles, which model to use) is answered at once, and is no turn. */
const ASIDE = { say: '{"title":"scripted","isNewTopic":false,"reasoning":"","next_speaker":"user","model_choice":"flash","complexity_score":1}' };

async function answer(vendor, path, request) {
  const tools = vendor.tools(request);
  const id = `call_${++nCalls}`;
  if (!tools.length) return vendor.answer(request, ASIDE, id, path);
  print({ tools: tools.map((tool) => tool.name), result: vendor.result(request) });
  const step = { ...(await nextStep()) };
  if (step.call) {
    // Agents put a prefix of their own before the name.
    const tool = tools.find((tool) => tool.name === step.call || tool.name.endsWith(`_${step.call}`));
    step.call = tool ?? { name: step.call };
  }
  return vendor.answer(request, step, id, path);
}

async function body(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

const server = createServer(async (request, response) => {
  const path = new URL(request.url, 'http://localhost').pathname;
  const text = await body(request);
  log(`${request.method} ${request.url} ${text.slice(0, Number(process.env.MODEL_LOG))}`);
  const vendor = request.method === 'POST' && VENDORS.find((vendor) => vendor.handles(path));
  if (!vendor) {
    response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":{"type":"not_found_error","message":"not scripted"}}');
    return;
  }
  const answered = await answer(vendor, path, JSON.parse(text));
  if (!Array.isArray(answered)) {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answered));
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const event of answered) {
    if (event.type) response.write(`event: ${event.type}\n`);
    response.write(`data: ${JSON.stringify(event)}\n\n`);
  }
  response.end();
});
server.listen(0, '127.0.0.1', () => print({ port: server.address().port }));
