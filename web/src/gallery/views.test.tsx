// Every view with what a hostile server would send: nothing of it becomes markup, and everybody can use the view.

import { cleanup, render } from "@testing-library/react";
import axe from "axe-core";
import { afterEach, beforeAll, expect, test, vi } from "vitest";
import { LanguageProvider } from "@/messages";
import { LocationProvider, ToastProvider } from "@/ui";

// It draws on a canvas, which there is not in here.
vi.mock("@/ui/Plot", () => ({ Plot: ({ title }: { title: string }) => <h2>{title}</h2> }));

beforeAll(() => {
  window.matchMedia = vi.fn(() => ({
    matches: false,
    addEventListener() {},
    removeEventListener() {},
  })) as never;
  Element.prototype.scrollIntoView = vi.fn();
});
afterEach(cleanup);

const HIDDEN = /[\p{Cf}\u3164]|(?!\n|\t)\p{Cc}/u;

const { VIEWS } = await import("./views");

test.each(Object.keys(VIEWS))("%s", async name => {
  localStorage.setItem("octroi-language", "en");
  render(
    <LanguageProvider>
      <ToastProvider>
        <LocationProvider value={{ path: "/", search: new URLSearchParams(), navigate() {} }}>
          <main>{VIEWS[name]?.content}</main>
        </LocationProvider>
      </ToastProvider>
    </LanguageProvider>,
  );
  expect(document.body.querySelector("img, script, iframe, object, embed, style")).toBeNull();
  // Nothing that a reader cannot see is left in the text: not in labels that only some hear, either.
  expect(document.body.textContent).not.toMatch(HIDDEN);
  const { violations } = await axe.run(document.body, {
    resultTypes: ["violations"],
    rules: { "color-contrast": { enabled: false } },
  });
  expect(violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`)).toEqual([]);
});
