// Tools, connected.

import { useMemo } from "react";
import type { HeldPin } from "@/api/types";
import { resource } from "@/api/uri";
import { urls } from "@/lib/urls";
import { useOperation, usePerson, useQueryOperation, useResource } from "@/mcp/hooks";
import { useText } from "@/messages";
import { failureFrom, Loaded, useChosen, useLocation, useSearchFilters, useToast } from "@/ui";
import { sortFrom } from "../servers/Screen";
import { TOOL_TABS, type ToolTab, ToolView } from "./Detail";
import { Quarantine } from "./Quarantine";
import "./tools.css";
import { type ToolsPart, ToolsView } from "./View";

const TOOLS = resource("tools");
const HELD = resource("heldPins");

export function ToolsScreen() {
  const id = useChosen();
  const { search, navigate } = useLocation();
  const filters = useSearchFilters();
  const tools = useResource(TOOLS);
  const held = useResource(HELD);
  const stats = useQueryOperation("calls_stats", { by: "tool", limit: 1000 });
  const hits = useMemo(() => new Map(stats.data?.rows.map(row => [row.name, row.calls])), [stats.data]);
  const part: ToolsPart = filters.get("part") === "quarantine" ? "quarantine" : "catalogue";
  const query = Object.fromEntries(search);
  return (
    <Loaded query={tools}>
      {data => (
        <ToolsView
          part={part}
          tools={data.tools}
          hits={hits}
          nQuarantined={held.data?.held.filter(pin => pin.kept_out_by === null).length ?? 0}
          quarantine={
            <Loaded query={held}>
              {({ held }) => <QuarantineScreen held={held} server={filters.get("server")} />}
            </Loaded>
          }
          query={filters.get("q") ?? ""}
          server={filters.get("server")}
          risk={filters.get("risk")}
          sort={sortFrom(filters.get("sort"))}
          onFilter={filters.set}
          selected={id}
          detail={id === null ? null : <ToolScreen key={id} id={id} nCalls={hits.get(id) ?? 0} />}
          onOpen={tool => navigate(urls.tool(tool, query))}
          onClose={() => navigate(urls.tools(query))}
        />
      )}
    </Loaded>
  );
}

function QuarantineScreen({ held, server }: { held: readonly HeldPin[]; server: string | null }) {
  const t = useText();
  const toast = useToast();
  const isAdmin = usePerson()?.role === "admin";
  const accept = useOperation("pins_accept");
  const reject = useOperation("pins_reject");
  const onError = (error: unknown) => {
    const { message, hint } = failureFrom(error);
    toast.failed({ title: message, ...(hint !== undefined && { description: hint }) });
  };
  // The hash is of what was shown: a definition that changed meanwhile is refused.
  const of = ({ server, kind, name, hash }: HeldPin) => ({
    server,
    kind,
    hash,
    ...(name !== "" && { name }),
  });
  return (
    <Quarantine
      held={held}
      server={server}
      isAdmin={isAdmin}
      isBusy={accept.isPending || reject.isPending}
      onAccept={pin =>
        accept.mutate(of(pin), {
          onSuccess: () => toast.done({ title: t("pins.accepted", { name: pin.name || pin.server }) }),
          onError,
        })
      }
      onReject={pin =>
        reject.mutate(of(pin), {
          onSuccess: () => toast.done({ title: t("pins.rejected", { name: pin.name || pin.server }) }),
          onError,
        })
      }
    />
  );
}

function ToolScreen({ id, nCalls }: { id: string; nCalls: number }) {
  const filters = useSearchFilters();
  const given = filters.get("tab");
  const tab: ToolTab = TOOL_TABS.find(one => one === given) ?? "about";
  const tool = useQueryOperation("tools_get", { tool_id: id }, { changesWith: [TOOLS] });
  const agents = useResource(tab === "try" || tab === "who" ? resource("agents") : null);
  const name = tool.data?.name ?? "";
  const history = useQueryOperation(
    "pins_history",
    { server: tool.data?.source_id ?? "", kind: "tool", name },
    { changesWith: [HELD, TOOLS], enabled: tab === "history" && tool.data?.source_type === "mcp" },
  );
  const call = useOperation("tools_call");
  const why = useOperation("policy_why");
  return (
    <Loaded query={tool}>
      {data => (
        <ToolView
          tool={data}
          tab={tab}
          onTab={next => filters.set({ tab: next === "about" ? null : next })}
          agents={agents.data ?? []}
          nCalls={nCalls}
          history={history.data ?? null}
          call={{
            data: call.data,
            error: call.error,
            isBusy: call.isPending,
            run: (agent, args) => call.mutate({ agent, tool: data.tool_id, arguments: args }),
          }}
          why={{
            data: why.data,
            error: why.error,
            isBusy: why.isPending,
            run: (agent, args) =>
              why.mutate({
                tool: `${data.source_id}.${data.name}`,
                arguments: args,
                ...(agent !== null && { agent_id: agent }),
              }),
          }}
        />
      )}
    </Loaded>
  );
}
