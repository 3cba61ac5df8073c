// What the suite calls by name and what only answers: tools, resources and prompts that need nothing of the client.

import { ResourceTemplate, fromJsonSchema } from '@modelcontextprotocol/server';
import * as z from 'zod';

const PIXEL =
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';
const SILENCE = 'UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=';

export const text = text => ({ content: [{ type: 'text', text }] });
export const pause = milliseconds => new Promise(resolve => setTimeout(resolve, milliseconds));

const embedded = (uri, mimeType, text) => ({ type: 'resource', resource: { uri, mimeType, text } });
const image = { type: 'image', data: PIXEL, mimeType: 'image/png' };

/** Tools whose result is fixed. */
export function addPlainTools(server) {
    const results = {
        test_simple_text: text('This is a simple text response for testing.'),
        test_image_content: { content: [image] },
        test_audio_content: { content: [{ type: 'audio', data: SILENCE, mimeType: 'audio/wav' }] },
        test_embedded_resource: {
            content: [embedded('test://embedded-resource', 'text/plain', 'This is an embedded resource content.')]
        },
        test_multiple_content_types: {
            content: [
                { type: 'text', text: 'Multiple content types test:' },
                image,
                embedded('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}')
            ]
        },
        test_streaming_elicitation: text('nothing was asked')
    };
    for (const [name, result] of Object.entries(results)) {
        server.registerTool(name, { description: `Returns what ${name} is called for` }, async () => result);
    }
    server.registerTool('test_error_handling', { description: 'Fails' }, async () => {
        throw new Error('This tool intentionally returns an error for testing');
    });
}

/** Tools whose schema is what matters. */
export function addSchemaTools(server) {
    const region = { type: 'string', description: 'Also a header', 'x-mcp-header': 'Region' };
    server.registerTool(
        'test_x_mcp_header',
        {
            description: 'Has an argument that is also a header',
            inputSchema: fromJsonSchema({ type: 'object', properties: { region, level: { type: 'integer' } } })
        },
        async ({ region }) => text(`region=${region ?? 'none'}`)
    );
    server.registerTool(
        'json_schema_2020_12_tool',
        {
            description: 'Has a schema with keywords of JSON Schema 2020-12',
            inputSchema: fromJsonSchema({
                $schema: 'https://json-schema.org/draft/2020-12/schema',
                type: 'object',
                $defs: {
                    address: {
                        $anchor: 'addressDef',
                        type: 'object',
                        properties: { street: { type: 'string' }, city: { type: 'string' } }
                    }
                },
                properties: {
                    name: { type: 'string' },
                    address: { $ref: '#/$defs/address' },
                    contactMethod: { type: 'string', enum: ['phone', 'email'] },
                    phone: { type: 'string' },
                    email: { type: 'string' }
                },
                allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
                if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
                then: { required: ['phone'] },
                else: { required: ['email'] },
                additionalProperties: false
            })
        },
        async given => text(JSON.stringify(given))
    );
}

export function addResources(server) {
    const read = (uri, mimeType, content) => async () => ({ contents: [{ uri, mimeType, ...content }] });
    for (const [name, mimeType, content] of [
        ['static-text', 'text/plain', { text: 'This is the content of the static text resource.' }],
        ['static-binary', 'image/png', { blob: PIXEL }],
        ['watched-resource', 'text/plain', { text: 'Watched resource content' }]
    ]) {
        const uri = `test://${name}`;
        server.registerResource(name, uri, { title: name, mimeType }, read(uri, mimeType, content));
    }
    server.registerResource(
        'template',
        new ResourceTemplate('test://template/{id}/data', { list: undefined }),
        { title: 'template', mimeType: 'application/json' },
        async (uri, { id }) => {
            const data = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` });
            return { contents: [{ uri: uri.toString(), mimeType: 'application/json', text: data }] };
        }
    );
    for (const method of ['resources/subscribe', 'resources/unsubscribe', 'logging/setLevel']) {
        server.server.setRequestHandler(method, async () => ({}));
    }
}

export function addPrompts(server) {
    const said = content => ({ role: 'user', content });
    const words = text => said({ type: 'text', text });
    const textOf = description => z.string().describe(description);
    server.registerPrompt('test_simple_prompt', { description: 'Without arguments' }, async () => ({
        messages: [words('This is a simple prompt for testing.')]
    }));
    server.registerPrompt(
        'test_prompt_with_arguments',
        { description: 'With arguments', argsSchema: z.object({ arg1: textOf('first'), arg2: textOf('second') }) },
        async ({ arg1, arg2 }) => ({ messages: [words(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)] })
    );
    server.registerPrompt(
        'test_prompt_with_embedded_resource',
        { description: 'With a resource', argsSchema: z.object({ resourceUri: textOf('its URI') }) },
        async ({ resourceUri }) => ({
            messages: [
                said(embedded(resourceUri, 'text/plain', 'Embedded resource content for testing.')),
                words('Please process the embedded resource above.')
            ]
        })
    );
    server.registerPrompt('test_prompt_with_image', { description: 'With an image' }, async () => ({
        messages: [said(image), words('Please analyze the image above.')]
    }));
    server.server.setRequestHandler('completion/complete', async () => ({
        completion: { values: ['alpha', 'beta', 'gamma'], total: 3, hasMore: false }
    }));
}
