import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { CheckedArguments, DecideRequest } from "@/api/types";
import { approval } from "@/gallery/fixtures";
import { LanguageProvider } from "@/messages";
import { DecisionPanel, type DecisionPort, pretty } from "./Decision";

beforeEach(() => localStorage.setItem("octroi-language", "en"));
afterEach(cleanup);

const fits: CheckedArguments = {
  ok: true,
  complaint: null,
  decision: "ask",
  reason: null,
  gates: [],
  facts: null,
};

function show(port: Partial<DecisionPort> = {}, changes: Partial<typeof approval> = {}) {
  const decided: DecideRequest[] = [];
  const whole: DecisionPort = {
    decide: request => decided.push(request),
    isDeciding: false,
    error: null,
    preview: async () => "the rule",
    check: async () => fits,
    ...port,
  };
  render(
    <LanguageProvider>
      <DecisionPanel approval={{ ...approval, masked: [], ...changes }} port={whole} />
    </LanguageProvider>,
  );
  return decided;
}

const button = (name: string | RegExp) => screen.getByRole("button", { name });

test("once, with a reason", () => {
  const decided = show();
  fireEvent.change(screen.getByLabelText("Reason"), { target: { value: " fine " } });
  fireEvent.click(button("Approve once"));
  expect(decided).toEqual([{ call_id: approval.id, decision: "approve", reason: "fine" }]);
});

test.each([
  ["a", "approve"],
  ["d", "deny_continue"],
  ["s", "deny_abort"],
] as const)("the key %s decides, but not while somebody types", (key, decision) => {
  const decided = show();
  fireEvent.keyDown(screen.getByLabelText("Reason"), { key });
  expect(decided).toEqual([]);
  fireEvent.keyDown(document.body, { key });
  expect(decided).toEqual([{ call_id: approval.id, decision }]);
});

describe("a rule", () => {
  test("is saved only after it was shown, exactly as it was asked for", async () => {
    const asked: DecideRequest[] = [];
    let answer = (_: string) => {};
    const decided = show({
      preview: request => {
        asked.push(request);
        return new Promise(resolve => {
          answer = resolve;
        });
      },
    });
    fireEvent.click(button("Always"));
    expect((button(/^Approve and add/) as HTMLButtonElement).disabled).toBe(true);
    answer("allow github.create_issue");
    await waitFor(() => screen.getByText("allow github.create_issue"));
    fireEvent.click(button(/^Approve and add/));
    expect(asked).toEqual([
      { call_id: approval.id, decision: "approve", remember: "exact", until: "forever", preview: true },
    ]);
    expect(decided).toEqual([
      { call_id: approval.id, decision: "approve", remember: "exact", until: "forever" },
    ]);
  });

  test("of another scope has to be shown again", async () => {
    const decided = show({ preview: async ({ remember }) => `rule for ${remember}` });
    fireEvent.click(button("For an hour"));
    await waitFor(() => screen.getByText("rule for exact"));
    fireEvent.change(screen.getByLabelText("The rule is for"), { target: { value: "tool" } });
    expect((button(/^Approve and add/) as HTMLButtonElement).disabled).toBe(true);
    await waitFor(() => screen.getByText("rule for tool"));
    fireEvent.click(button(/^Approve and add/));
    expect(decided[0]).toMatchObject({ remember: "tool", until: "1h" });
  });

  test("that cannot be saved says why", async () => {
    show({ preview: () => Promise.reject(new Error("the policy is managed by a file")) });
    fireEvent.click(button("Always"));
    await waitFor(() => screen.getByText("the policy is managed by a file"));
  });
});

describe("other arguments", () => {
  const edit = (text: string) =>
    fireEvent.change(screen.getByLabelText("Arguments"), { target: { value: text } });
  const approve = () => button("Approve with these arguments") as HTMLButtonElement;

  test("are checked before they can be approved, and sent as they are written", async () => {
    const decided = show({}, { arguments: '{"id":9007199254740993}' });
    fireEvent.click(button("Edit"));
    edit('{"id": 9007199254740995}');
    expect(approve().disabled).toBe(true);
    await waitFor(() => expect(approve().disabled).toBe(false));
    fireEvent.click(approve());
    expect(decided).toEqual([
      { call_id: approval.id, decision: "approve", arguments_json: '{"id": 9007199254740995}' },
    ]);
  });

  test.each([
    ["no JSON", "{"],
    ["no object", "[1]"],
  ])("that are %s cannot be approved", async (_, text) => {
    show();
    fireEvent.click(button("Edit"));
    edit(text);
    expect(approve().disabled).toBe(true);
    screen.getByRole("alert");
  });

  test("that the schema or a gate refuses cannot be approved", async () => {
    show({ check: async () => ({ ...fits, decision: "deny_abort", reason: "the floor forbids it" }) });
    fireEvent.click(button("Edit"));
    edit("{}");
    await waitFor(() => screen.getByText("the floor forbids it"));
    expect(approve().disabled).toBe(true);
  });

  test("with a mask in them cannot be approved: the server would get the mask", async () => {
    show({}, { masked: approval.masked ?? [] });
    fireEvent.click(button("Edit"));
    await new Promise(resolve => setTimeout(resolve, 350));
    expect(approve().disabled).toBe(true);
    screen.getByText(/masked value is still in here/);
  });
});

test("indenting changes no number and no text", () => {
  expect(pretty('{"a":9007199254740993,"b":[],"c":{"d":[1,"x, {y}: \\"z\\""]},"e":{}}')).toBe(
    '{\n  "a": 9007199254740993,\n  "b": [],\n  "c": {\n    "d": [\n      1,\n      "x, {y}: \\"z\\""\n    ]\n  },\n  "e": {}\n}',
  );
});
