// Pictures of every screen, in both languages and schemes, at three widths. Nobody compares them: people look.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, signIn, test } from "./browser";

const directory = join(import.meta.dirname, "shots");
const widths = { 390: 844, 1280: 800, 1920: 1080 };

/** A new screen is one line here. `APPROVAL` stands for the id of a call that waits. */
const screens: Record<string, string> = {
  overview: "/",
  approvals: "/approvals",
  approval: "/approvals/APPROVAL",
  activity: "/activity",
  servers: "/servers",
  tools: "/tools",
  agents: "/agents",
  policies: "/policies",
  audit: "/audit",
  settings: "/settings",
};

test("shots", async ({ page, gateway, context }) => {
  mkdirSync(directory, { recursive: true });
  await page.goto(gateway.url);
  await expect(page.getByRole("button", { name: "Sign in" })).toBeVisible();
  await page.screenshot({ path: join(directory, "sign-in.png") });
  await signIn(page, gateway);
  const called = gateway.start(
    "call",
    "demo.write_note",
    "title=Groceries",
    "text=milk, bread",
    "--agent",
    "default",
  );
  await expect(page.getByRole("link", { name: /^Approvals.*1 call waits/ })).toBeVisible();
  const [approval] = JSON.parse(await gateway.octroi("approvals", "--json")) as { id: string }[];
  for (const language of ["en", "zh"]) {
    for (const scheme of ["light", "dark"]) {
      await page.evaluate(
        ([language, scheme]) => {
          localStorage.setItem("octroi-language", language ?? "");
          localStorage.setItem("octroi-theme", scheme ?? "");
        },
        [language, scheme],
      );
      for (const [width, height] of Object.entries(widths)) {
        await page.setViewportSize({ width: Number(width), height });
        for (const [name, path] of Object.entries(screens)) {
          await page.goto(gateway.url + path.replace("APPROVAL", approval?.id ?? ""));
          await expect(page.locator("#main")).toBeVisible();
          await page.waitForTimeout(400);
          await expect(page.locator(".skeleton")).toHaveCount(0);
          await page.screenshot({ path: join(directory, `${name}-${language}-${scheme}-${width}.png`) });
        }
      }
    }
  }
  await gateway.octroi("deny", approval?.id ?? "");
  await called;
  await context.close();
});
