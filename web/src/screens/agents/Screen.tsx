// Agents, connected.

import { resource } from "@/api/uri";
import { urls } from "@/lib/urls";
import { useOperation, useQueryOperation, useResource } from "@/mcp/hooks";
import { useText } from "@/messages";
import { failureFrom, Loaded, useChosen, useLocation, useToast } from "@/ui";
import { AgentView } from "./Detail";
import { AgentsView } from "./View";

export function AgentsScreen() {
  const id = useChosen();
  const { navigate } = useLocation();
  const agents = useResource(resource("agents"));
  return (
    <Loaded query={agents}>
      {data => (
        <AgentsView
          agents={data}
          selected={id}
          detail={id === null ? null : <AgentScreen key={id} id={id} />}
          onOpen={agent => navigate(urls.agent(agent))}
          onClose={() => navigate(urls.agents())}
        />
      )}
    </Loaded>
  );
}

function AgentScreen({ id }: { id: string }) {
  const t = useText();
  const toast = useToast();
  const snapshot = useResource(resource("agentSnapshot", { agent_id: id }));
  const policy = useQueryOperation(
    "policy_explain",
    { agent_id: id },
    { changesWith: [resource("activePolicy")] },
  );
  const update = useOperation("agents_update");
  const pause = useOperation("agents_stop");
  const resume = useOperation("agents_boot");
  const abort = useOperation("agents_abort");
  const onError = (error: unknown) => {
    const { message, hint } = failureFrom(error);
    toast.failed({ title: message, ...(hint !== undefined && { description: hint }) });
  };
  const because = (reason: string) => ({ agent_id: id, ...(reason !== "" && { reason }) });
  return (
    <Loaded query={snapshot}>
      {({ agent, mcp }) => (
        <AgentView
          agent={agent}
          servers={mcp}
          policy={policy.data ?? null}
          isBusy={pause.isPending || resume.isPending || abort.isPending}
          onMode={mode => update.mutate({ agent_id: id, mode }, { onError })}
          onPause={reason => pause.mutate(because(reason), { onError })}
          onResume={() => resume.mutate({ agent_id: id }, { onError })}
          onAbort={reason =>
            abort.mutate(because(reason), {
              onSuccess: ({ calls, approvals }) =>
                toast.done({ title: t("agents.aborted", { count: calls + approvals }) }),
              onError,
            })
          }
        />
      )}
    </Loaded>
  );
}
