// @vitest-environment node
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const here = import.meta.dirname;

test("the gateway knows the path of every screen", () => {
  const source = readFileSync(join(here, "../../crates/octroi-ui/src/lib.rs"), "utf8");
  const [, list] = /SCREENS: \[&str; \d+\] = \[([^\]]*)\]/.exec(source) ?? [];
  const known = [...(list ?? "").matchAll(/"([^"]+)"/g)].map(match => match[1]);
  const screens = readdirSync(join(here, "screens"), { withFileTypes: true }).filter(entry =>
    entry.isDirectory(),
  );
  expect(screens.length).toBeGreaterThan(1);
  for (const { name } of screens) {
    const index = readFileSync(join(here, "screens", name, "index.ts"), "utf8");
    const paths = [...index.matchAll(/getParentRoute: \(\) => frameRoute,\s*path: "([^"]+)"/g)];
    expect(paths.length, name).toBeGreaterThan(0);
    for (const [, path] of paths) expect(known).toContain(`/${path?.split("/")[1]}`);
  }
});
