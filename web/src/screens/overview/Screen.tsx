// The overview, connected.

import { ATTENTION, RECENT_CALLS } from "@/api/refs";
import { useQueryOperation } from "@/mcp/hooks";
import { Loaded } from "@/ui";
import "./overview.css";
import { OverviewView } from "./View";

export function OverviewScreen() {
  const attention = useQueryOperation("attention_list", {}, { changesWith: [ATTENTION] });
  const stats = useQueryOperation(
    "calls_stats",
    { by: "server", step: "minute", limit: 20 },
    { changesWith: [RECENT_CALLS], keepPrevious: true },
  );
  return (
    <Loaded query={attention}>{data => <OverviewView attention={data} stats={stats.data ?? null} />}</Loaded>
  );
}
