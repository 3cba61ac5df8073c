// Where everything is. Every object and every filter has an address.

const of = (base: string, id?: string | null, query?: Record<string, string | null | undefined>): string => {
  const path = id == null ? base : `${base}/${encodeURIComponent(id)}`;
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) if (value) search.set(name, value);
  const text = search.toString();
  return text === "" ? path : `${path}?${text}`;
};

type Query = Record<string, string | null | undefined>;

export const urls = {
  overview: () => "/",
  approvals: (query?: Query) => of("/approvals", null, query),
  approval: (id: string, query?: Query) => of("/approvals", id, query),
  activity: (query?: Query) => of("/activity", null, query),
  call: (id: string, query?: Query) => of("/activity", id, query),
  servers: (query?: Query) => of("/servers", null, query),
  server: (name: string, query?: Query) => of("/servers", name, query),
  tools: (query?: Query) => of("/tools", null, query),
  tool: (id: string, query?: Query) => of("/tools", id, query),
  agents: () => "/agents",
  agent: (id: string, query?: Query) => of("/agents", id, query),
  sessions: () => "/sessions",
  policies: (query?: Query) => of("/policies", null, query),
  proposal: (id: string) => of("/policies", null, { proposal: id }),
  audit: (query?: Query) => of("/audit", null, query),
  record: (seq: number) => of("/audit", null, { record: String(seq) }),
  settings: (query?: Query) => of("/settings", null, query),
} as const;
