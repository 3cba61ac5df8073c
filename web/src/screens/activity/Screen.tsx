// Activity, connected.

import { useMemo } from "react";
import { RECENT_CALLS } from "@/api/refs";
import type { ListCallsRequest } from "@/api/types";
import { urls } from "@/lib/urls";
import { useGateway, useQueryOperation } from "@/mcp/hooks";
import { Loaded, useChosen, useLocation, useSearchFilters } from "@/ui";
import { CallView } from "./CallDetail";
import { ActivityView, FILTERS, type Filters } from "./View";
import type { WhatIfPort } from "./WhatIf";

export function ActivityScreen() {
  const id = useChosen();
  const { search, navigate } = useLocation();
  const { get, set } = useSearchFilters();
  const filters: Filters = {};
  for (const name of FILTERS) {
    const value = get(name);
    if (value !== null) filters[name] = value;
  }
  const before = Number(get("before")) || null;
  const request = { ...filters, limit: 200, ...(before !== null && { before }) } as ListCallsRequest;
  const page = useQueryOperation("calls_list", request, {
    // A page of older calls stays put while new ones arrive.
    changesWith: before === null ? [RECENT_CALLS] : [],
    keepPrevious: true,
  });
  const query = Object.fromEntries(search);
  return (
    <Loaded query={page}>
      {({ calls, next }) => (
        <ActivityView
          calls={calls}
          filters={filters}
          onFilter={set}
          selected={id}
          onOpen={call => navigate(urls.call(call, query))}
          onClose={() => navigate(urls.activity(query))}
          detail={id === null ? null : <CallScreen key={id} id={id} />}
          isOlder={before !== null}
          next={next}
        />
      )}
    </Loaded>
  );
}

function CallScreen({ id }: { id: string }) {
  const gateway = useGateway();
  const call = useQueryOperation("calls_get", { id }, { changesWith: [RECENT_CALLS] });
  const port = useMemo<WhatIfPort>(
    () => ({
      policy: async agent => {
        const active = await gateway.call("policy_show", { level: "agent", agent_id: agent });
        return (active as { source: string }).source;
      },
      replay: (agent, source, since_ms) =>
        gateway.call("policy_replay", { level: "agent", agent_id: agent, source, since_ms }) as ReturnType<
          WhatIfPort["replay"]
        >,
    }),
    [gateway],
  );
  return <Loaded query={call}>{data => <CallView call={data} whatIf={port} />}</Loaded>;
}
