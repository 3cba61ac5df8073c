// Runs a plan with one client and prints one JSON line per check.
//
// A client is an object with:
//   connect()                                     -> text for the "connect" line
//   request(method, params, {signal, onprogress}) -> result as on the wire
//   watch({resource} | {list})                    -> async function that ends the watch
//   close()                                       -> text for the "close" line
//   abandon()                                     closes the transport without a word to the server
// and it reports what the server sends by calling `inbox.push` and `elicitor.answer`.
// Twin of ../python/runner.py.

import { brief, expectations, mismatch, readOptions, UsageError } from './plan.mjs';

class Hang extends Error {}

/** Notifications received since the current step began. */
class Inbox {
  #seen = [];
  #waiter = null;

  begin() {
    this.#seen = [];
  }

  push(event) {
    this.#seen.push(event);
    this.#waiter?.();
  }

  async wait(watch) {
    // A server may send other changes first; only the watched one ends the wait.
    while (!this.#seen.some((event) => (watch.list ? event.list === watch.list : event.resource === watch.resource))) {
      await new Promise((resolve) => (this.#waiter = resolve));
    }
  }
}

/** Answers elicitations with what the current step says, and remembers that it was asked. */
class Elicitor {
  #answer = null;
  asked = [];

  begin(answer) {
    this.#answer = answer ?? null;
    this.asked = [];
  }

  answer(params) {
    this.asked.push(params);
    if (this.#answer === null) return { action: 'cancel' };
    const { action, content } = this.#answer;
    // URL mode has no content: the answer is given elsewhere.
    return action === 'accept' && params.mode !== 'url' ? { action, content: content ?? {} } : { action };
  }

  problem() {
    if (this.#answer === null) return this.asked.length > 0 ? `unexpected elicitation: ${brief(this.asked[0])}` : undefined;
    if (this.asked.length === 0) return 'the server asked nothing';
    const mode = this.#answer.mode;
    return mode && (this.asked[0].mode ?? 'form') !== mode ? `asked in another mode than ${mode}: ${brief(this.asked[0])}` : undefined;
  }
}

/** Imports a package, or says how to install it: a bare "cannot find module" helps nobody. */
export async function load(specifier) {
  try {
    return await import(specifier);
  } catch (error) {
    if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new UsageError(`${specifier} is not installed: run \`npm ci\` in the directory of this script`);
  }
}

/** Entry point of a client script: `create(options, inbox, elicitor)` makes the client. */
export async function main(eras, create) {
  let code;
  try {
    const options = readOptions(process.argv.slice(2), eras);
    code = await runPlan(options, create);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    process.stderr.write(`error: ${error.message}\n`);
    code = 2;
  }
  // A stream or a child that a peer left open must not keep the process alive.
  process.exit(code);
}

async function runPlan(options, create) {
  const inbox = new Inbox();
  const elicitor = new Elicitor();
  const client = await create(options, inbox, elicitor);
  let failed = false;
  // Says whether the connection can still be used.
  const check = async (name, timeoutMs, body) => {
    try {
      print(name, true, brief(await within(timeoutMs, body())));
    } catch (error) {
      failed = true;
      print(name, false, describe(error));
      return !(error instanceof Hang);
    }
    return true;
  };
  await check('connect', options.timeoutMs, () => client.connect());
  if (failed) return giveUp(client, options.steps.length);
  for (const [index, step] of options.steps.entries()) {
    const timeoutMs = step.timeout_s ? step.timeout_s * 1000 : options.timeoutMs;
    const usable = await check(step.check, timeoutMs, () => repeatStep(client, step, timeoutMs, inbox, elicitor));
    // After a hang every further step would hang as well, each for its full time.
    if (!usable) return giveUp(client, options.steps.length - index - 1);
  }
  await check('close', options.timeoutMs, () => client.close());
  return failed ? 1 : 0;
}

async function giveUp(client, nSteps) {
  print('rest of the plan', false, `${nSteps} steps not run`);
  // A child that hangs must not outlive the test; whether it closes well no longer matters.
  await within(10_000, client.abandon()).catch(() => {});
  return 1;
}

// Some effects have no notification, such as a cancellation seen by a server: asking again is the only way to wait.
async function repeatStep(client, step, timeoutMs, inbox, elicitor) {
  // Ends before the step's deadline, so that the last mismatch is reported and not a hang.
  const end = Date.now() + timeoutMs * 0.8;
  for (;;) {
    try {
      return await runStep(client, step, inbox, elicitor);
    } catch (error) {
      if (!step.eventually || Date.now() > end) throw error;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }
}

async function runStep(client, step, inbox, elicitor) {
  inbox.begin();
  elicitor.begin(step.elicit);
  const unwatch = step.watch ? await client.watch(step.watch) : async () => {};
  try {
    const detail = await perform(client, step, elicitor);
    if (!step.watch) return detail;
    await inbox.wait(step.watch);
    return `notified of ${brief(step.watch.list ?? step.watch.resource)}; ${detail}`;
  } finally {
    await unwatch();
  }
}

async function perform(client, step, elicitor) {
  const abort = new AbortController();
  let nProgress = 0;
  const options = { signal: abort.signal };
  if (step.progress !== undefined) options.onprogress = () => (nProgress += 1);
  const timer = step.cancel_after_ms === undefined ? null : setTimeout(() => abort.abort('cancelled by the plan'), step.cancel_after_ms);
  let result;
  try {
    result = await client.request(step.method, step.params, options);
  } catch (error) {
    if (abort.signal.aborted) return `rejected after the abort: ${describe(error)}`;
    if (step.error) return matchError(step.error, error);
    throw error;
  } finally {
    clearTimeout(timer);
  }
  if (step.cancel_after_ms !== undefined) throw new Error(`answered before it was cancelled: ${brief(result)}`);
  if (step.error) throw new Error(`expected an error, got ${brief(result)}`);
  const problems = [elicitor.problem(), ...expectations(step).map((expectation) => mismatch(expectation, result))];
  if (nProgress < (step.progress ?? 0)) problems.push(`${nProgress} progress notifications, expected ${step.progress}`);
  const problem = problems.filter(Boolean).join('; ');
  if (problem) throw new Error(problem);
  const notes = [step.progress === undefined ? '' : `${nProgress} progress`, step.elicit ? `asked ${elicitor.asked.length}` : ''];
  return [...notes, brief(result)].filter(Boolean).join(', ');
}

function matchError(expected, error) {
  const codes = [expected.code ?? []].flat();
  if (codes.length > 0 && !codes.includes(error.code)) throw new Error(`wrong error: ${describe(error)}`);
  if (expected.contains && !String(error.message).includes(expected.contains)) throw new Error(`wrong error: ${describe(error)}`);
  return describe(error);
}

async function within(timeoutMs, promise) {
  let timer;
  const deadline = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Hang(`no end after ${timeoutMs / 1000} s`)), timeoutMs);
  });
  try {
    return await Promise.race([promise, deadline]);
  } finally {
    clearTimeout(timer);
  }
}

function describe(error) {
  const text = error instanceof Error ? error.message : String(error);
  // fetch hides the reason ("connection refused") in the cause.
  const cause = error?.cause?.message ? `: ${error.cause.message}` : '';
  return brief(`${text}${cause}${error?.code === undefined ? '' : ` (code ${error.code})`}`);
}

function print(check, ok, detail) {
  process.stdout.write(`${JSON.stringify({ check, ok, detail })}\n`);
}
