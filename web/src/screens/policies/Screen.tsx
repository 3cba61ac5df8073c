// Policies, connected. A draft stays while others apply theirs: what is applied names the version it replaces.

import { useEffect, useState } from "react";
import type { Complaint } from "@/api/types";
import { resource } from "@/api/uri";
import { useGateway, useOperation, usePerson, useQueryOperation, useResource } from "@/mcp/hooks";
import { useText } from "@/messages";
import { failureFrom, Loaded, useSearchFilters, useToast } from "@/ui";
import "./policies.css";
import { type Level, PoliciesView } from "./View";

const LEVELS: readonly Level[] = ["global", "floor", "agent"];

export function PoliciesScreen() {
  const { get } = useSearchFilters();
  const level = LEVELS.find(one => one === get("level")) ?? "global";
  const agent = level === "agent" ? get("agent") : null;
  return <PolicyScreen key={`${level} ${agent}`} level={level} agent={agent} />;
}

function PolicyScreen({ level, agent }: { level: Level; agent: string | null }) {
  const t = useText();
  const toast = useToast();
  const { set } = useSearchFilters();
  const isAdmin = usePerson()?.role === "admin";
  const agents = useResource(resource("agents"));
  const at = { level, ...(agent !== null && { agent_id: agent }) };
  const changesWith = [
    resource("activePolicy"),
    ...(agent === null ? [] : [resource("agentPolicyState", { agent_id: agent })]),
  ];
  const active = useQueryOperation("policy_show", at, { changesWith });
  const history = useQueryOperation("policy_history", at, { changesWith });
  const proposals = useQueryOperation(
    "policy_proposals",
    { status: "proposed", ...(agent !== null && { agent_id: agent }) },
    { changesWith: [...changesWith, resource("agents")] },
  );
  const [draft, setDraft] = useState<{ text: string; version: number } | null>(null);
  const test = useOperation("policy_test");
  const replay = useOperation("policy_replay");
  const forAgent = useOperation("agents_set_policy");
  const forAll = useOperation("policy_set_global");
  const floor = useOperation("policy_set_floor");
  const approve = useOperation("agents_approve_proposal");
  const reject = useOperation("agents_reject_proposal");
  const apply = level === "agent" ? forAgent : level === "global" ? forAll : floor;
  const version = active.data?.version ?? 0;
  const text = draft?.text ?? active.data?.source ?? "";
  const complaints = useComplaints(text, level, draft !== null);
  const onError = (error: unknown) => {
    const { message, hint } = failureFrom(error);
    toast.failed({ title: message, ...(hint !== undefined && { description: hint }) });
  };
  const applied = () => {
    setDraft(null);
    toast.done({ title: t("policies.applied") });
  };
  const save = () => {
    if (!draft) return;
    const request = { source: draft.text, expected_version: draft.version };
    if (level === "agent") {
      if (agent !== null) forAgent.mutate({ ...request, agent_id: agent }, { onSuccess: applied });
    } else (level === "global" ? forAll : floor).mutate(request, { onSuccess: applied });
  };
  return (
    <Loaded query={active}>
      {data => (
        <PoliciesView
          level={level}
          agent={agent}
          agents={agents.data ?? []}
          onLevel={(next, id) => set({ level: next === "global" ? null : next, agent: id })}
          active={data.source}
          file={data.file}
          mayApply={isAdmin || level === "agent"}
          text={text}
          onText={next =>
            setDraft(next === data.source ? null : { text: next, version: draft?.version ?? version })
          }
          complaints={complaints}
          test={{
            data: test.data,
            error: test.error,
            isBusy: test.isPending,
            run: () => test.mutate({ ...at, source: text }),
          }}
          replay={{
            data: replay.data,
            error: replay.error,
            isBusy: replay.isPending,
            run: () => replay.mutate({ ...at, source: text }),
          }}
          apply={{ data: apply.data, error: apply.error, isBusy: apply.isPending, run: save }}
          history={history.data?.versions ?? []}
          proposals={proposals.data?.proposals ?? []}
          onApprove={id =>
            approve.mutate({ id }, { onSuccess: () => toast.done({ title: t("policies.applied") }), onError })
          }
          onReject={(id, reason) => reject.mutate({ id, reason }, { onError })}
        />
      )}
    </Loaded>
  );
}

/** What is wrong with a text, asked for while it is typed. */
function useComplaints(source: string, level: Level, isDraft: boolean): readonly Complaint[] {
  const gateway = useGateway();
  const [found, setFound] = useState<readonly Complaint[]>([]);
  useEffect(() => {
    if (!isDraft) {
      setFound([]);
      return;
    }
    let isCurrent = true;
    const timer = setTimeout(() => {
      gateway.call("policy_check", { source, level }).then(
        answer => isCurrent && setFound((answer as { complaints: Complaint[] }).complaints),
        // Applying checks again, and says what is wrong.
        () => undefined,
      );
    }, 300);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [gateway, source, level, isDraft]);
  return found;
}
