// Every view with fixtures, by name.

import { type ReactNode, useState } from "react";
import { CallView } from "@/screens/activity/CallDetail";
import { ActivityView } from "@/screens/activity/View";
import type { DecisionPort } from "@/screens/approvals/Decision";
import { Detail } from "@/screens/approvals/Detail";
import { ApprovalsView } from "@/screens/approvals/View";
import { OverviewView } from "@/screens/overview/View";
import { AddDialog } from "@/screens/servers/AddDialog";
import { ServerView } from "@/screens/servers/Detail";
import { ServersView } from "@/screens/servers/View";
import { ToolView } from "@/screens/tools/Detail";
import { Quarantine } from "@/screens/tools/Quarantine";
import { ToolsView } from "@/screens/tools/View";
import * as f from "./fixtures";
import { Primitives } from "./Primitives";

const nothing = () => {};

const port: DecisionPort = {
  decide: nothing,
  isDeciding: false,
  error: null,
  preview: async () =>
    '[[rules]]\nid = "remembered"\ntool = "github.create_issue"\nagent = "claude-code"\nwhen = { arguments = "sha256:1f…" }\ndecision = "allow"\nexpires = "1h"',
  check: async () => ({ ok: true, complaint: null, decision: "ask", reason: null, gates: [], facts: null }),
};

function Approvals({ isPast = false, hasDetail = true }: { isPast?: boolean; hasDetail?: boolean }) {
  const [shown, setShown] = useState<ReadonlyMap<string, string>>(new Map());
  const chosen = isPast ? f.history[0] : f.approval;
  return (
    <ApprovalsView
      part={isPast ? "history" : "pending"}
      approvals={isPast ? f.history : f.approvals}
      selected={hasDetail ? (chosen?.id ?? null) : null}
      detail={
        hasDetail && chosen ? (
          <Detail
            approval={chosen}
            context={f.context}
            revealed={shown}
            onReveal={path => setShown(new Map(shown).set(path, '"ghp_0123456789abcdef"'))}
            port={port}
            onForgetRule={nothing}
          />
        ) : null
      }
      agent={null}
      query=""
      onPart={nothing}
      onOpen={nothing}
      onClose={nothing}
      onFilter={nothing}
      onDecideMany={nothing}
      isDeciding={false}
      error={null}
      onNotify={nothing}
    />
  );
}

function Activity({ hasDetail = false }: { hasDetail?: boolean }) {
  const whatIf = { policy: async () => "", replay: async () => ({}) as never };
  return (
    <ActivityView
      calls={f.calls}
      filters={{ agent: "claude-code", decision: "ask" }}
      onFilter={nothing}
      selected={hasDetail ? f.call.id : null}
      onOpen={nothing}
      onClose={nothing}
      detail={hasDetail ? <CallView call={f.call} whatIf={whatIf} /> : null}
      isOlder={false}
      next={9_000}
    />
  );
}

const servers = (
  <ServersView
    servers={f.servers}
    problems={["octroi.toml:14: unknown key `trsut`; did you mean `trust`?"]}
    query=""
    scope={null}
    sort={{ key: "name", isDescending: false }}
    onFilter={nothing}
    onOpen={nothing}
    onAdd={nothing}
    onToggle={nothing}
  />
);

function Server({ tab }: { tab: "overview" | "tools" | "logs" | "configuration" }) {
  const [active, setActive] = useState(tab);
  return (
    <ServerView
      server={f.server}
      tab={active}
      onTab={setActive}
      tools={f.tools.slice(0, 8)}
      log={f.log}
      history={f.serverHistory}
      onTest={nothing}
      onRestart={nothing}
      onToggle={nothing}
      onDelete={nothing}
      onEdit={nothing}
      onRollback={nothing}
      isBusy={false}
    />
  );
}

function Tools({
  part = "catalogue",
  tab = null,
}: {
  part?: "catalogue" | "quarantine";
  tab?: "about" | "try" | "who" | "history" | null;
}) {
  const [active, setActive] = useState(tab ?? "about");
  const answer = { data: undefined, error: null, isBusy: false, run: nothing };
  return (
    <ToolsView
      part={part}
      tools={f.tools}
      hits={new Map([[f.tool.tool_id, 512]])}
      nQuarantined={1}
      quarantine={
        <Quarantine
          held={f.held}
          server={null}
          isAdmin
          isBusy={false}
          onAccept={nothing}
          onReject={nothing}
        />
      }
      query=""
      server={null}
      risk={null}
      sort={null}
      onFilter={nothing}
      selected={tab === null ? null : f.tool.tool_id}
      detail={
        tab === null ? null : (
          <ToolView
            tool={f.tool}
            tab={active}
            onTab={setActive}
            agents={f.agents}
            nCalls={512}
            history={f.pinHistory}
            call={answer}
            why={answer}
          />
        )
      }
      onOpen={nothing}
      onClose={nothing}
    />
  );
}

export const VIEWS: Record<string, { path: string; content: ReactNode }> = {
  primitives: { path: "/settings", content: <Primitives /> },
  overview: { path: "/", content: <OverviewView attention={f.attention} stats={f.stats} /> },
  approvals: { path: "/approvals", content: <Approvals /> },
  "approvals-list": { path: "/approvals", content: <Approvals hasDetail={false} /> },
  "approvals-history": { path: "/approvals", content: <Approvals isPast /> },
  activity: { path: "/activity", content: <Activity /> },
  call: { path: "/activity", content: <Activity hasDetail /> },
  servers: { path: "/servers", content: servers },
  server: { path: "/servers/github", content: <Server tab="overview" /> },
  "server-configuration": { path: "/servers/github", content: <Server tab="configuration" /> },
  "server-logs": { path: "/servers/github", content: <Server tab="logs" /> },
  "server-add": {
    path: "/servers",
    content: (
      <AddDialog
        isOpen
        onClose={nothing}
        templates={f.templates}
        isAdmin
        onAdd={nothing}
        isBusy={false}
        error={null}
      />
    ),
  },
  tools: { path: "/tools", content: <Tools /> },
  "tool-try": { path: "/tools", content: <Tools tab="try" /> },
  tool: { path: "/tools", content: <Tools tab="about" /> },
  quarantine: { path: "/tools", content: <Tools part="quarantine" /> },
};
