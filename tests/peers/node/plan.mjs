// Options, plans and expectations shared by the Node clients.
//
// A plan is data: the same file must mean the same to the Node and to the
// Python clients, so everything here has its twin in ../python/plan.py.
// The format is described in ../README.md.

import { readFileSync } from 'node:fs';
import { isDeepStrictEqual, parseArgs } from 'node:util';

const METHODS = [
  'tools/list', 'tools/call', 'resources/list', 'resources/templates/list', 'resources/read',
  'prompts/list', 'prompts/get', 'completion/complete',
];
const STEP_KEYS = [
  'check', 'method', 'params', 'expect', 'error', 'progress', 'elicit', 'cancel_after_ms', 'watch', 'eventually',
  'timeout_s',
];
const EXPECT_KEYS = ['path', 'equals', 'contains', 'includes', 'excludes'];

/** A mistake of the caller: bad option, bad plan, missing package. Exit code 2, never a failed check. */
export class UsageError extends Error {}

/** Parses the command line; `eras` lists what `--era` may name, its first entry is the default. */
export function readOptions(argv, eras) {
  // Everything after `--` is the server's command line and may hold options of its own.
  const split = argv.indexOf('--');
  const own = split < 0 ? argv : argv.slice(0, split);
  const command = split < 0 ? [] : argv.slice(split + 1);
  let values;
  try {
    ({ values } = parseArgs({
      args: own,
      options: {
        url: { type: 'string' },
        sse: { type: 'boolean', default: false },
        token: { type: 'string' },
        plan: { type: 'string' },
        server: { type: 'string', default: '' },
        var: { type: 'string', multiple: true, default: [] },
        era: { type: 'string', default: eras[0] },
        timeout: { type: 'string', default: '30' },
      },
    }));
  } catch (error) {
    throw new UsageError(error.message);
  }
  if (!values.plan) throw new UsageError('--plan FILE.json is missing');
  if (Boolean(values.url) === command.length > 0) throw new UsageError('give either --url URL or -- COMMAND ARGS...');
  if (values.sse && (!values.url || eras.includes('modern'))) throw new UsageError('--sse goes with --url, and only with 1.x');
  if (!eras.includes(values.era)) throw new UsageError(`--era must be one of: ${eras.join(', ')}`);
  const timeoutMs = Number(values.timeout) * 1000;
  if (!(timeoutMs > 0)) throw new UsageError('--timeout takes a number of seconds above 0');
  const variables = { prefix: values.server ? `${values.server}_` : '' };
  for (const pair of values.var) {
    const at = pair.indexOf('=');
    if (at < 1) throw new UsageError(`--var takes NAME=VALUE, not ${JSON.stringify(pair)}`);
    variables[pair.slice(0, at)] = pair.slice(at + 1);
  }
  return {
    url: values.url,
    sse: values.sse,
    token: values.token,
    command,
    era: values.era,
    timeoutMs,
    steps: readPlan(values.plan, variables, values.server),
  };
}

function readPlan(file, variables, server) {
  let steps;
  try {
    steps = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new UsageError(`cannot read plan ${file}: ${error.message}`);
  }
  if (!Array.isArray(steps) || steps.length === 0) throw new UsageError(`plan ${file} must be a list of steps`);
  for (const step of steps) checkStep(step);
  return substitute(steps, variables, server);
}

// A misspelt key would silently check nothing, so unknown keys are refused.
function checkStep(step) {
  const name = `step ${JSON.stringify(step.check)}`;
  if (typeof step.check !== 'string') throw new UsageError('every step needs a "check" name');
  for (const key of Object.keys(step)) {
    if (!STEP_KEYS.includes(key)) throw new UsageError(`${name}: unknown key ${JSON.stringify(key)}`);
  }
  if (!METHODS.includes(step.method)) throw new UsageError(`${name}: unknown method ${JSON.stringify(step.method)}`);
  for (const expectation of expectations(step)) {
    for (const key of Object.keys(expectation)) {
      if (!EXPECT_KEYS.includes(key)) throw new UsageError(`${name}: unknown expectation ${JSON.stringify(key)}`);
    }
  }
}

export function expectations(step) {
  return step.expect === undefined ? [] : [step.expect].flat();
}

function substitute(value, variables, server) {
  if (typeof value === 'string') return fill(value, variables, server);
  if (Array.isArray(value)) return value.map((item) => substitute(item, variables, server));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, substitute(item, variables, server)]));
}

function fill(text, variables, server) {
  // `(?!\})` keeps the closing brace of a URI template: {{uri:demo://x/{id}}} ends in three.
  const withUris = text.replace(/\{\{uri:(.+?)\}\}(?!\})/g, (_, uri) => mountUri(uri, server));
  return withUris.replace(/\{\{(\w+)\}\}/g, (_, name) => {
    if (!(name in variables)) throw new UsageError(`the plan needs --var ${name}=...`);
    return variables[name];
  });
}

/** The gateway serves `scheme://REST` of a mounted server as `scheme://SERVER/REST`. */
function mountUri(uri, server) {
  return server ? uri.replace('://', `://${server}/`) : uri;
}

/** Returns what is wrong with `result`, or undefined when it meets the expectation. */
export function mismatch(expectation, result) {
  const path = expectation.path ?? '';
  const found = lookUp(result, path);
  const shown = `${path || 'result'} is ${brief(found)}`;
  if ('equals' in expectation && !isDeepStrictEqual(found, expectation.equals)) {
    return `${shown}, expected ${brief(expectation.equals)}`;
  }
  if ('contains' in expectation) {
    const text = typeof found === 'string' ? found : JSON.stringify(found) ?? '';
    if (!text.includes(expectation.contains)) return `${shown}, expected it to contain ${brief(expectation.contains)}`;
  }
  const items = Array.isArray(found) ? found : [];
  const missing = (expectation.includes ?? []).filter((item) => !items.some((other) => isDeepStrictEqual(other, item)));
  if (missing.length > 0) return `${shown}, missing ${brief(missing)}`;
  const unwanted = (expectation.excludes ?? []).filter((item) => items.some((other) => isDeepStrictEqual(other, item)));
  if (unwanted.length > 0) return `${shown}, unwanted ${brief(unwanted)}`;
  return undefined;
}

/** Follows a dotted path; `*` stands for every item of a list and makes the value found a list. */
function lookUp(value, path) {
  const parts = path === '' ? [] : path.split('.');
  for (const [index, part] of parts.entries()) {
    if (value === null || value === undefined) return undefined;
    if (part === '*') {
      const rest = parts.slice(index + 1).join('.');
      return Array.isArray(value) ? value.map((item) => lookUp(item, rest)) : undefined;
    }
    value = value[part];
  }
  return value;
}

/** A value in at most 300 characters: a detail is read by people. */
export function brief(value) {
  const text = typeof value === 'string' ? value : JSON.stringify(value) ?? 'absent';
  return text.length > 300 ? `${text.slice(0, 297)}...` : text;
}
