import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { useState } from "react";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { LanguageProvider } from "@/messages";
import { JsonView, Link, LocationProvider, type Sort, Table, Untrusted, useSearchFilters } from ".";

beforeEach(() => localStorage.setItem("octroi-language", "en"));
afterEach(cleanup);

function show(content: React.ReactNode) {
  return render(<LanguageProvider>{content}</LanguageProvider>);
}

describe("Untrusted", () => {
  test("markup stays text", () => {
    const { container } = show(<Untrusted text={`<img src=x onerror="alert(1)"><b>bold</b>`} />);
    expect(container.querySelector("img, b")).toBeNull();
    expect(container.textContent).toBe(`<img src=x onerror="alert(1)"><b>bold</b>`);
  });

  test.each([true, false])("what hides is marked, on one line: %s", isLine => {
    const { container } = show(<Untrusted isLine={isLine} text={"a\u202eb\\RLO"} />);
    const marked = [...container.querySelectorAll(".untrusted-escape")].map(one => one.textContent);
    // The escape that the text itself spells is not marked as one.
    expect(marked).toEqual(["\\RLO"]);
    expect(container.textContent).toBe("a\\RLOb\\RLO");
  });

  test("long text is folded until somebody asks", () => {
    const { container } = show(<Untrusted text={"x".repeat(1_000_000)} />);
    expect(container.textContent?.length).toBeLessThan(1_000);
    fireEvent.click(screen.getByRole("button", { name: /show all/ }));
    expect(container.textContent?.length).toBeGreaterThan(1_000_000);
  });
});

interface Row {
  id: string;
  n: number;
}

const rows: Row[] = [
  { id: "b", n: 2 },
  { id: "a", n: 10 },
  { id: "c", n: 1 },
];

function Sorted({ onOpen, onKey }: { onOpen?(row: Row): void; onKey?(key: string, row: Row): void }) {
  const [sort, setSort] = useState<Sort | null>(null);
  return (
    <Table
      label="Rows"
      columns={[
        { key: "id", label: "Id", width: "1fr", cell: row => row.id },
        { key: "n", label: "Number", width: "1fr", sort: row => row.n, cell: row => row.n },
      ]}
      rows={rows}
      keyOf={row => row.id}
      sort={sort}
      onSort={setSort}
      {...(onOpen && { onOpen })}
      {...(onKey && { onKey })}
    />
  );
}

describe("Table", () => {
  beforeEach(() => {
    Element.prototype.scrollIntoView = vi.fn();
  });

  test("rows are reached and opened by keyboard", () => {
    const opened: string[] = [];
    const keys: string[] = [];
    show(<Sorted onOpen={row => opened.push(row.id)} onKey={(key, row) => keys.push(`${key} ${row.id}`)} />);
    const grid = screen.getByRole("grid", { name: "Rows" });
    fireEvent.focus(grid);
    fireEvent.keyDown(grid, { key: "j" });
    fireEvent.keyDown(grid, { key: "Enter" });
    fireEvent.keyDown(grid, { key: "ArrowDown" });
    fireEvent.keyDown(grid, { key: "x" });
    fireEvent.keyDown(grid, { key: "j" });
    fireEvent.keyDown(grid, { key: "Enter" });
    expect(opened).toEqual(["a", "c"]);
    expect(keys).toEqual(["x c"]);
    const active = document.getElementById(grid.getAttribute("aria-activedescendant") ?? "");
    expect(active?.textContent).toBe("c1");
  });

  test("numbers sort as numbers, and the other way round", () => {
    const { container } = show(<Sorted />);
    const order = () => [...container.querySelectorAll("[data-index]")].map(row => row.textContent);
    fireEvent.click(screen.getByRole("button", { name: "Number" }));
    expect(order()).toEqual(["c1", "b2", "a10"]);
    fireEvent.click(screen.getByRole("button", { name: "Number" }));
    expect(order()).toEqual(["a10", "b2", "c1"]);
    expect(screen.getByRole("columnheader", { name: "Number" }).getAttribute("aria-sort")).toBe("descending");
  });

  test("of many rows only a few are rendered", () => {
    const many = Array.from({ length: 10_000 }, (_, i) => ({ id: String(i), n: i }));
    const { container } = show(
      <Table
        label="Many"
        columns={[{ key: "n", label: "N", width: "1fr", cell: row => row.n }]}
        rows={many}
        keyOf={row => row.id}
      />,
    );
    expect(container.querySelectorAll("[data-index]").length).toBeLessThan(200);
    expect(screen.getByRole("grid").getAttribute("aria-rowcount")).toBe("10001");
  });
});

test("a masked value is shown only when somebody asks", () => {
  const asked: string[] = [];
  const masked = [{ path: "/token", kind: "credential", length: 40 }];
  const view = (revealed: ReadonlyMap<string, string>) => (
    <LanguageProvider>
      <JsonView
        value={{ token: "[redacted]", name: "x" }}
        masked={masked}
        revealed={revealed}
        onReveal={path => asked.push(path)}
      />
    </LanguageProvider>
  );
  const { rerender, container } = render(view(new Map()));
  fireEvent.click(screen.getByRole("button", { name: /masked value at \/token/ }));
  expect(asked).toEqual(["/token"]);
  rerender(view(new Map([["/token", '"secret"']])));
  expect(container.textContent).toContain('token:"secret"');
});

function Filter() {
  const { set } = useSearchFilters();
  return (
    <button type="button" onClick={() => set({ agent: null, outcome: "denied" })}>
      set
    </button>
  );
}

describe("Link", () => {
  const at = (navigate: (to: string) => void, content: React.ReactNode) =>
    show(
      <LocationProvider
        value={{ path: "/activity", search: new URLSearchParams("agent=x&tool=y"), navigate }}
      >
        {content}
      </LocationProvider>,
    );

  test("a plain click stays in the page, one with a modifier does not", () => {
    const visited: string[] = [];
    at(to => visited.push(to), <Link to="/tools">Tools</Link>);
    const link = screen.getByRole("link");
    expect(fireEvent.click(link)).toBe(false);
    document.addEventListener("click", event => event.preventDefault(), { once: true });
    fireEvent.click(link, { ctrlKey: true });
    expect(visited).toEqual(["/tools"]);
  });

  test("a filter changes without losing others", () => {
    const visited: string[] = [];
    at(to => visited.push(to), <Filter />);
    fireEvent.click(screen.getByRole("button"));
    expect(visited).toEqual(["/activity?tool=y&outcome=denied"]);
  });
});
