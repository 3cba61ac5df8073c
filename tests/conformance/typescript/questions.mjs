// Tools that ask the client, as the SDK's examples do it in each era: by a request of their own, which the SDK refuses
// for modern requests, or by returning what is required.

import { randomUUID } from 'node:crypto';

import { CLIENT_CAPABILITIES_META_KEY, acceptedContent, createRequestStateCodec, inputRequired } from '@modelcontextprotocol/server';
import * as z from 'zod';

import { text } from './content.mjs';

/** Seals what travels through the client between rounds. */
export const states = createRequestStateCodec({ key: crypto.getRandomValues(new Uint8Array(32)) });

const fields = properties => ({ type: 'object', properties, required: Object.keys(properties) });
const form = (message, properties) => inputRequired.elicit({ message, requestedSchema: fields(properties) });
const prompt = (text, maxTokens) => ({ messages: [{ role: 'user', content: { type: 'text', text } }], maxTokens });
const name = { name: { type: 'string' } };
const nothing = z.object({});

/** Tools that send a request to the client while they run. */
export function addLegacyQuestions(server) {
    const add = (tool, inputSchema, request, answer) =>
        server.registerTool(tool, { description: 'Asks by a request of its own', inputSchema }, async (given, ctx) => {
            try {
                return text(answer(await ctx.mcpReq.send(request(given))));
            } catch (error) {
                return text(`not supported: ${error.message}`);
            }
        });
    const elicit = (message, properties, required = []) => ({
        method: 'elicitation/create',
        params: { message, requestedSchema: { type: 'object', properties, required } }
    });
    const completed = ({ action, content }) =>
        `Elicitation completed: action=${action}, content=${JSON.stringify(content ?? {})}`;
    add(
        'test_sampling',
        z.object({ prompt: z.string() }),
        given => ({ method: 'sampling/createMessage', params: prompt(given.prompt, 100) }),
        ({ content }) => `LLM response: ${content?.text ?? 'No response'}`
    );
    add(
        'test_elicitation',
        z.object({ message: z.string() }),
        ({ message }) => elicit(message, { response: { type: 'string', description: 'The response' } }, ['response']),
        ({ action, content }) => `User response: action=${action}, content=${JSON.stringify(content ?? {})}`
    );
    add('test_elicitation_sep1034_defaults', nothing, () => elicit('Please review', DEFAULTS), completed);
    add('test_elicitation_sep1330_enums', nothing, () => elicit('Please select', ENUMS), completed);
}

const DEFAULTS = {
    name: { type: 'string', default: 'John Doe' },
    age: { type: 'integer', default: 30 },
    score: { type: 'number', default: 95.5 },
    status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
    verified: { type: 'boolean', default: true }
};

const titled = [1, 2, 3].map(number => ({ const: `value${number}`, title: `Choice ${number}` }));
const untitled = ['option1', 'option2', 'option3'];
const ENUMS = {
    untitledSingle: { type: 'string', enum: untitled },
    titledSingle: { type: 'string', oneOf: titled },
    legacyEnum: { type: 'string', enum: ['opt1', 'opt2', 'opt3'], enumNames: ['One', 'Two', 'Three'] },
    untitledMulti: { type: 'array', minItems: 1, maxItems: 3, items: { type: 'string', enum: untitled } },
    titledMulti: { type: 'array', minItems: 1, maxItems: 3, items: { anyOf: titled } }
};

/** Tools that return what they need and are called again with it. */
export function addModernQuestions(server) {
    const add = (tool, run) =>
        server.registerTool(
            `test_input_required_result_${tool}`,
            { description: 'Returns what it needs from the client', inputSchema: nothing },
            async (_given, { mcpReq }) => run(mcpReq, mcpReq.inputResponses ?? {})
        );
    const sealed = (tool, more) => states.mint({ tool, nonce: randomUUID(), ...more });
    const ask = (inputRequests, requestState) => inputRequired({ inputRequests, requestState });
    const user_name = form('What is your name?', name);
    const confirm = form('Please confirm', { ok: { type: 'boolean' } });

    add('elicitation', (_, answers) => {
        const found = acceptedContent(answers, 'user_name')?.name;
        return typeof found === 'string' ? text(`Hello, ${found}!`) : ask({ user_name });
    });
    add('sampling', (_, { capital_question: answer }) =>
        answer === undefined
            ? ask({ capital_question: inputRequired.createMessage(prompt('What is the capital of France?', 100)) })
            : text(`Sampling response: ${answer.content?.text ?? JSON.stringify(answer)}`)
    );
    add('list_roots', (_, { client_roots: answer }) =>
        Array.isArray(answer?.roots)
            ? text(answer.roots.map(root => root.uri).join(', '))
            : ask({ client_roots: inputRequired.listRoots() })
    );
    for (const [tool, done] of [
        ['request_state', 'state-ok: it is the one that was sent'],
        ['tampered_state', 'integrity-ok: it was not altered']
    ]) {
        add(tool, async (request, answers) =>
            request.requestState() !== undefined && acceptedContent(answers, 'confirm') !== undefined
                ? text(done)
                : ask({ confirm }, await sealed(tool))
        );
    }
    add('multiple_inputs', async (_, answers) => {
        const found = acceptedContent(answers, 'user_name')?.name;
        const greeting = answers.greeting?.content?.text;
        const roots = answers.client_roots?.roots;
        if (typeof found === 'string' && typeof greeting === 'string' && Array.isArray(roots)) {
            return text(`${greeting} ${found}, ${roots.length} roots`);
        }
        const wanted = {
            user_name,
            greeting: inputRequired.createMessage(prompt('Generate a greeting', 50)),
            client_roots: inputRequired.listRoots()
        };
        return ask(wanted, await sealed('multiple_inputs'));
    });
    add('multi_round', async (request, answers) => {
        const state = request.requestState();
        const round = state?.tool === 'multi_round' ? state.round : 0;
        if (round === 0) {
            return ask({ step1: form('Step 1: What is your name?', name) }, await sealed('multi_round', { round: 1 }));
        }
        if (round === 1) {
            const found = acceptedContent(answers, 'step1')?.name ?? 'unknown';
            const step2 = form('Step 2: What is your favorite color?', { color: { type: 'string' } });
            return ask({ step2 }, await sealed('multi_round', { round: 2, name: found }));
        }
        return text(`${state.name} likes ${acceptedContent(answers, 'step2')?.color ?? 'nothing'}`);
    });
    add('capabilities', (request, answers) => {
        const declared = request.envelope?.[CLIENT_CAPABILITIES_META_KEY] ?? server.server.getClientCapabilities() ?? {};
        const wanted = {
            ...(declared.elicitation && { user_name }),
            ...(declared.sampling && { greeting: inputRequired.createMessage(prompt('Generate a greeting', 50)) }),
            ...(declared.roots && { client_roots: inputRequired.listRoots() })
        };
        const isDone = request.inputResponses !== undefined || Object.keys(wanted).length === 0;
        return isDone ? text(`answered: ${Object.keys(answers).join(', ')}`) : ask(wanted);
    });
    server.registerTool(
        'test_missing_capability',
        { description: 'Needs sampling', inputSchema: nothing },
        async (_given, { mcpReq }) =>
            mcpReq.inputResponses?.llm_answer === undefined
                ? ask({ llm_answer: inputRequired.createMessage(prompt('Reply with the single word: pong', 16)) })
                : text('answered')
    );
    server.registerPrompt('test_input_required_result_prompt', { description: 'Needs a context' }, async ctx => {
        const context = acceptedContent(ctx.mcpReq.inputResponses, 'user_context')?.context;
        return typeof context === 'string'
            ? { messages: [{ role: 'user', content: { type: 'text', text: `Use this context: ${context}` } }] }
            : ask({ user_context: form('What context should it use?', { context: { type: 'string' } }) });
    });
}
