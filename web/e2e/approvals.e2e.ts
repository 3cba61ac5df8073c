// Deciding about a call that an agent makes.

import { checkAccessible, expect, signIn, test } from "./browser";
import type { TestGateway } from "./gateway";

const ASK = ["call", "demo.write_note", "text=from a test", "--wait", "--agent", "default"];

/** Lets an agent make a call that waits. */
function ask(gateway: TestGateway) {
  return gateway.start(...ASK);
}

test("a call appears at once in two tabs, is approved in one, and goes on", async ({
  page,
  context,
  gateway,
}) => {
  await signIn(page, gateway);
  const second = await context.newPage();
  await second.goto(`${gateway.url}/approvals`);
  await page.getByRole("link", { name: /^Approvals/ }).click();
  for (const tab of [page, second]) await expect(tab.getByText("No call waits for you")).toBeVisible();
  const called = ask(gateway);
  for (const tab of [page, second]) {
    await expect(tab.getByRole("row", { name: /demo.write_note/ })).toBeVisible();
    await expect(tab).toHaveTitle("(1) Octroi");
  }
  await page.getByRole("row", { name: /demo.write_note/ }).click();
  await expect(page).toHaveURL(/\/approvals\/ap_/);
  await expect(page.getByText("from a test")).toBeVisible();
  await page.getByRole("button", { name: "Approve once" }).click();
  for (const tab of [page, second]) {
    await expect(tab.getByText("No call waits for you")).toBeVisible();
    await expect(tab).toHaveTitle("Octroi");
  }
  expect((await called).code).toBe(0);
});

test("a denial has a reason, which the caller learns", async ({ page, gateway }) => {
  await signIn(page, gateway);
  const called = ask(gateway);
  await page.getByRole("link", { name: /^Approvals.*1 call waits/ }).click();
  await page.getByRole("row", { name: /demo.write_note/ }).click();
  await page.getByLabel("Reason").fill("not today");
  await page.getByRole("button", { name: "Deny", exact: true }).click();
  const { code, output } = await called;
  expect(code).not.toBe(0);
  expect(output).toContain("not today");
  await page.goto(`${gateway.url}/approvals?part=history`);
  await expect(page.getByRole("row", { name: /demo.write_note/ })).toContainText("Denied");
});

for (const scheme of ["light", "dark"] as const) {
  test(`screens are usable for everybody, ${scheme}`, async ({ page, gateway }) => {
    await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
    await page.goto(gateway.url);
    await expect(page.getByRole("heading", { name: "Sign in to Octroi" })).toBeVisible();
    await checkAccessible(page);
    await signIn(page, gateway);
    const called = ask(gateway);
    await expect(page.getByRole("link", { name: /^Approvals.*1 call waits/ })).toBeVisible();
    await checkAccessible(page);
    await page.goto(`${gateway.url}/approvals`);
    await page.getByRole("row", { name: /demo.write_note/ }).click();
    await expect(page.getByRole("button", { name: "Approve once" })).toBeVisible();
    await checkAccessible(page);
    await page.keyboard.press("Control+k");
    await expect(page.getByRole("combobox")).toBeVisible();
    await checkAccessible(page);
    await page.keyboard.press("Escape");
    await page.keyboard.press("d");
    expect((await called).code).not.toBe(0);
  });
}
