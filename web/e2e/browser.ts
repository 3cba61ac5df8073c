// Tests with Debian's Chromium, a gateway of their own, and a page that must not break its policy.

import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import {
  type Browser,
  type BrowserContext,
  test as base,
  chromium,
  expect,
  type Page,
} from "@playwright/test";
import { TestGateway } from "./gateway";

const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
const axe = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

export function launch(): Promise<Browser> {
  const candidates = [process.env.OCTROI_CHROMIUM, "/usr/bin/chromium", "/usr/bin/google-chrome"];
  const executablePath = candidates.find(path => path !== undefined && existsSync(path));
  if (!executablePath) throw new Error("there is no Chromium; `apt-get install chromium` installs it");
  return chromium.launch({ executablePath, args: FLAGS });
}

interface Fixtures {
  config: string;
  gateway: TestGateway;
  context: BrowserContext;
  page: Page;
  /** What pages complained about: violations of the policy, errors, requests to elsewhere. */
  complaints: string[];
}

export const test = base.extend<Fixtures, { shared: Browser }>({
  config: ["", { option: true }],
  shared: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the names of fixtures from it
    async ({}, use) => {
      const browser = await launch();
      await use(browser);
      await browser.close();
    },
    { scope: "worker" },
  ],
  gateway: async ({ config }, use) => {
    const gateway = await TestGateway.start(config);
    await use(gateway);
    await gateway.stop();
  },
  // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the names of fixtures from it
  complaints: async ({}, use) => use([]),
  context: async ({ shared, gateway, complaints }, use) => {
    const context = await shared.newContext({ locale: "en-GB" });
    context.on("page", page => listen(page, gateway, complaints));
    await use(context);
    await context.close();
    expect(complaints).toEqual([]);
  },
  page: async ({ context }, use) => use(await context.newPage()),
});

function listen(page: Page, gateway: TestGateway, complaints: string[]): void {
  page.on("pageerror", error => complaints.push(`error: ${error.message}`));
  page.on("console", message => {
    const text = message.text();
    // A gateway that is away, and a refused token, are part of the tests; the browser reports both.
    const isExpected = /Failed to load resource|net::ERR_/.test(text);
    if (message.type() === "error" && !isExpected) complaints.push(`console: ${text}`);
  });
  page.on("request", request => {
    const url = request.url();
    if (!url.startsWith(gateway.url) && !url.startsWith("data:")) complaints.push(`elsewhere: ${url}`);
  });
}

/** Opens the interface, signed in by a one-time code. */
export async function signIn(page: Page, gateway: TestGateway): Promise<void> {
  await page.goto(await gateway.signInUrl());
  await expect(page.getByRole("heading", { name: "Overview" })).toBeVisible();
}

/** Fails if the page is hard to use for anybody. */
export async function checkAccessible(page: Page): Promise<void> {
  // Evaluated by the debugger, which no policy of the page concerns.
  await page.evaluate(await readFile(axe, "utf8"));
  const violations = await page.evaluate(async () => {
    const { violations } = await (
      window as unknown as {
        axe: {
          run(): Promise<{ violations: { id: string; nodes: { html: string; failureSummary: string }[] }[] }>;
        };
      }
    ).axe.run();
    return violations.flatMap(({ id, nodes }) =>
      nodes.map(node => `${id}: ${node.html} ${node.failureSummary}`),
    );
  });
  expect(violations).toEqual([]);
}

export { expect };
