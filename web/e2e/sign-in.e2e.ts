// Signing in and out, and what is left behind.

import { expect, signIn, test } from "./browser";

test("a one-time code signs in once, and leaves nothing behind", async ({
  page,
  context,
  gateway,
  shared,
}) => {
  const url = await gateway.signInUrl();
  await page.goto(url);
  await expect(page.getByRole("heading", { name: "Overview" })).toBeVisible();
  await expect(page.locator(".connection--live")).toBeVisible();
  expect(page.url()).toBe(`${gateway.url}/`);
  expect(await context.cookies()).toEqual([]);
  const stored = await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }));
  expect(stored).not.toMatch(/oct_/);
  const key = await page.evaluate(async () => {
    const opening = indexedDB.open("octroi");
    const database = await new Promise<IDBDatabase>(resolve => {
      opening.onsuccess = () => resolve(opening.result);
    });
    const asked = database.transaction("session").objectStore("session").get("current");
    const kept = await new Promise<{ keys: CryptoKeyPair }>(resolve => {
      asked.onsuccess = () => resolve(asked.result);
    });
    const exported = await crypto.subtle.exportKey("pkcs8", kept.keys.privateKey).catch(() => "refused");
    return { exported, isExtractable: kept.keys.privateKey.extractable, kept: JSON.stringify(kept) };
  });
  expect(key).toMatchObject({ exported: "refused", isExtractable: false });
  expect(key.kept).not.toMatch(/oct_/);

  await page.reload();
  await expect(page.getByRole("heading", { name: "Overview" })).toBeVisible();

  const other = await shared.newContext();
  const stranger = await other.newPage();
  await stranger.goto(url);
  await expect(stranger.getByText("this is not a valid token or code", { exact: false })).toBeVisible();
  await other.close();
});

test("a token signs in, and signing out ends the session in all tabs and at the gateway", async ({
  page,
  context,
  gateway,
}) => {
  await page.goto(gateway.url);
  await page.getByLabel("Token").fill("oct_hum_wrong");
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByText("this is not a valid token or code", { exact: false })).toBeVisible();
  await page.getByLabel("Token").fill(await gateway.adminToken());
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByRole("heading", { name: "Overview" })).toBeVisible();
  const second = await context.newPage();
  await second.goto(gateway.url);
  await expect(second.getByRole("heading", { name: "Overview" })).toBeVisible();
  expect(await gateway.octroi("token", "list")).toMatch(/browser Chrome, Linux/);

  await page.getByRole("button", { name: "Account of admin" }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  for (const tab of [page, second])
    await expect(tab.getByRole("heading", { name: "Sign in to Octroi" })).toBeVisible();
  expect(await gateway.octroi("token", "list")).not.toMatch(/browser/);
  await second.reload();
  await expect(second.getByRole("heading", { name: "Sign in to Octroi" })).toBeVisible();
});

test("the page of a revoked session says so within a second", async ({ page, gateway }) => {
  await signIn(page, gateway);
  await expect(page.locator(".connection--live")).toBeVisible();
  const tokens = JSON.parse(await gateway.octroi("token", "list", "--json")) as {
    id: string;
    label: string;
  }[];
  const session = tokens.find(token => token.label.startsWith("browser"));
  await gateway.octroi("token", "revoke", session?.id ?? "");
  await expect(page.getByRole("heading", { name: "Sign in to Octroi" })).toBeVisible({ timeout: 1_000 });
  await expect(page.getByText("You were signed out", { exact: false })).toBeVisible();
});

test("a page that stays open finds a gateway that was killed and started again", async ({
  page,
  gateway,
}) => {
  await signIn(page, gateway);
  await expect(page.locator(".connection--live")).toBeVisible();
  await gateway.kill();
  await expect(page.locator(".connection--lost")).toBeVisible();
  await gateway.restart();
  await expect(page.locator(".connection--live")).toBeVisible({ timeout: 20_000 });
  await expect(page.getByRole("heading", { name: "Overview" })).toBeVisible();
});

test("another origin of this machine gets nothing", async ({ gateway }) => {
  const port = new URL(gateway.url).port;
  for (const [path, origin] of [
    ["/ui/session", "http://127.0.0.1:1"],
    ["/ui/session", `http://localhost:${port}`],
    ["/ui/token", "https://evil.example"],
    ["/ui/token", null],
  ] as const) {
    const headers = { ...(origin && { origin }), "content-type": "application/json" };
    const body = JSON.stringify({ credential: await gateway.adminToken(), label: "x" });
    const response = await fetch(`${gateway.url}${path}`, { method: "POST", headers, body });
    expect(response.status, `${path} ${origin}`).toBe(403);
  }
});
