// Starts the real gateway with the demo server, in a fresh directory and on a free port.

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const root = join(import.meta.dirname, "../..");

export class TestGateway {
  readonly data: string;
  readonly #directory: string;
  readonly #program: string;
  #process: ChildProcess | null = null;
  url = "";

  private constructor(directory: string) {
    this.#directory = directory;
    this.data = join(directory, "data");
    this.#program = process.env.OCTROI_BINARY ?? join(root, "target/debug/octroi");
  }

  /** A running gateway with this configuration. */
  static async start(config = ""): Promise<TestGateway> {
    const gateway = new TestGateway(await mkdtemp(join(tmpdir(), "octroi-e2e-")));
    await writeFile(join(gateway.#directory, "octroi.toml"), config);
    await gateway.#launch("127.0.0.1:0");
    return gateway;
  }

  async #launch(listen: string): Promise<void> {
    const file = join(this.#directory, "octroi.toml");
    const args = [
      "up",
      "--demo",
      "--accept-config",
      "--config",
      file,
      "--data",
      this.data,
      "--listen",
      listen,
    ];
    // A display would make `octroi open` start a browser.
    const env = { PATH: process.env.PATH, HOME: this.#directory };
    const child = spawn(this.#program, args, { env, stdio: ["ignore", "ignore", "pipe"] });
    this.#process = child;
    let log = "";
    child.stderr?.on("data", chunk => {
      log += chunk;
    });
    for (let n = 0; n < 300; n += 1) {
      if (child.exitCode !== null) throw new Error(`the gateway has ended:\n${log}`);
      const announced = await readFile(join(this.data, "endpoint"), "utf8").catch(() => "");
      const [url, pid] = announced.split("\n");
      if (url && Number(pid) === child.pid) {
        this.url = url.replace(/\/mcp$/, "");
        return;
      }
      await new Promise(resolve => setTimeout(resolve, 100));
    }
    throw new Error(`the gateway does not start:\n${log}`);
  }

  /** Kills the gateway without warning. */
  async kill(): Promise<void> {
    await this.#end("SIGKILL");
  }

  /** Starts it again, at the same address. */
  async restart(): Promise<void> {
    await this.#launch(new URL(this.url).host);
  }

  async stop(): Promise<void> {
    await this.#end("SIGTERM");
    await rm(this.#directory, { recursive: true, force: true });
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#process;
    this.#process = null;
    if (!child || child.exitCode !== null) return;
    const ended = once(child, "exit");
    child.kill(signal);
    await ended;
  }

  /** Runs a command line, and returns what it prints. */
  async octroi(...args: string[]): Promise<string> {
    const { stdout } = await run(this.#program, [...args, "--data", this.data], {
      env: { PATH: process.env.PATH },
    });
    return stdout.trim();
  }

  /** Runs a command that waits for somebody; how it ended and what it printed. */
  start(...args: string[]): Promise<{ code: number; output: string }> {
    const child = spawn(this.#program, [...args, "--data", this.data], { env: { PATH: process.env.PATH } });
    let output = "";
    child.stdout.on("data", chunk => {
      output += chunk;
    });
    child.stderr.on("data", chunk => {
      output += chunk;
    });
    return new Promise(resolve => child.on("exit", code => resolve({ code: code ?? -1, output })));
  }

  /** The address that signs a browser in, once. */
  signInUrl(): Promise<string> {
    return this.octroi("open", "--print");
  }

  adminToken(): Promise<string> {
    return readFile(join(this.data, "admin.token"), "utf8").then(text => text.trim());
  }
}
