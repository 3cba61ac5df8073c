import { defineConfig } from "@playwright/test";

const isShots = process.env.OCTROI_SHOTS === "1";

export default defineConfig({
  testDir: ".",
  testMatch: isShots ? "shots.ts" : "*.e2e.ts",
  outputDir: "results",
  // Each test starts a gateway of its own, and two at a time are load enough.
  workers: 1,
  timeout: isShots ? 600_000 : 60_000,
  expect: { timeout: 10_000 },
  reporter: [["list"]],
  use: { actionTimeout: 10_000, trace: "retain-on-failure" },
});
