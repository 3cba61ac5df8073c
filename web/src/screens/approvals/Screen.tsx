// The inbox, connected: what waits comes as a resource, what was decided and what helps to decide as operations.

import { useCallback, useMemo, useState } from "react";
import type { Approval, DecideRequest } from "@/api/types";
import { resource } from "@/api/uri";
import { useNotifyPermission } from "@/app/notify";
import { toolName } from "@/lib/snippets";
import { urls } from "@/lib/urls";
import { useGateway, useOperation, useQueryOperation, useResource } from "@/mcp/hooks";
import { useText } from "@/messages";
import { failureFrom, Loaded, useChosen, useLocation, useSearchFilters, useToast } from "@/ui";
import "./approvals.css";
import type { DecisionPort } from "./Decision";
import { Detail } from "./Detail";
import { ApprovalsView, type Part } from "./View";

const PENDING = resource("pendingApprovals");

export function ApprovalsScreen() {
  const id = useChosen();
  const t = useText();
  const toast = useToast();
  const filters = useSearchFilters();
  const { search, navigate } = useLocation();
  const part: Part = filters.get("part") === "history" ? "history" : "pending";
  const pending = useResource(PENDING);
  const past = useQueryOperation(
    "approvals_list",
    { part: "history", limit: 200 },
    { changesWith: [PENDING], enabled: part === "history" },
  );
  const many = useOperation("approvals_decide_many");
  const permission = useNotifyPermission();
  const query = Object.fromEntries(search);
  return (
    <Loaded<readonly Approval[]>
      query={
        part === "pending"
          ? pending
          : { data: past.data?.approvals, error: past.error, refetch: past.refetch }
      }
    >
      {approvals => (
        <ApprovalsView
          part={part}
          approvals={approvals}
          selected={id}
          detail={id === null ? null : <ApprovalDetail key={id} id={id} />}
          agent={filters.get("agent")}
          query={filters.get("q") ?? ""}
          onPart={next => navigate(urls.approvals({ ...query, part: next === "history" ? next : null }))}
          onOpen={next => navigate(urls.approval(next, query))}
          onClose={() => navigate(urls.approvals(query))}
          onFilter={filters.set}
          isDeciding={many.isPending}
          error={many.error}
          onNotify={permission}
          onDecideMany={(ids, decision, reason) =>
            many.mutate(
              { ids: [...ids], decision, ...(reason !== "" && { reason }) },
              {
                onSuccess: ({ decided, failed, results }) => {
                  if (decided > 0) toast.done({ title: t("approvals.many_done", { count: decided }) });
                  const first = results.find(one => one.error)?.error;
                  if (failed > 0) {
                    toast.failed({
                      title: t("approvals.many_failed", { count: failed }),
                      ...(first && { description: first.message }),
                    });
                  }
                },
              },
            )
          }
        />
      )}
    </Loaded>
  );
}

function ApprovalDetail({ id }: { id: string }) {
  const t = useText();
  const toast = useToast();
  const gateway = useGateway();
  const approval = useQueryOperation("approvals_get", { id }, { changesWith: [PENDING] });
  const context = useQueryOperation("approvals_context", { id });
  const reveal = useOperation("approvals_reveal");
  const decide = useOperation("agents_decide_request");
  const forget = useOperation("approvals_forget_rule");
  const [revealed, setRevealed] = useState<ReadonlyMap<string, string>>(new Map());
  const failed = useCallback(
    (error: unknown) => {
      const { message, hint } = failureFrom(error);
      toast.failed({ title: message, ...(hint !== undefined && { description: hint }) });
    },
    [toast],
  );
  const takeBack = useCallback(
    () =>
      forget.mutate(
        { id },
        { onSuccess: () => toast.done({ title: t("approvals.rule_removed") }), onError: failed },
      ),
    [forget.mutate, id, toast, t, failed],
  );
  const decided = (request: DecideRequest) =>
    decide.mutate(request, {
      onSuccess: answer => {
        const isApproved = request.decision === "approve";
        toast.done({
          title: t(isApproved ? "approvals.done_approved" : "approvals.done_denied", {
            tool: "tool" in answer ? toolName(answer.tool) : request.call_id,
          }),
          ...("warning" in answer && answer.warning !== undefined && { description: answer.warning }),
          // A decision stands; the rule that was saved with it can be taken back.
          ...(request.remember !== undefined && {
            action: { label: t("approvals.rule_remove"), run: takeBack },
          }),
        });
      },
    });
  const calls = useMemo(
    () => ({
      preview: async (request: DecideRequest) => {
        const answer = await gateway.call("agents_decide_request", request);
        return (answer as { rule: string }).rule;
      },
      check: (call: string, json: string) =>
        gateway.call("approvals_check_arguments", { id: call, arguments_json: json }) as ReturnType<
          DecisionPort["check"]
        >,
    }),
    [gateway],
  );
  return (
    <Loaded query={approval}>
      {data => (
        <Detail
          approval={data}
          context={context.data ?? null}
          revealed={revealed}
          onReveal={path =>
            reveal.mutate(
              { id, path },
              {
                onSuccess: ({ value }) => setRevealed(known => new Map(known).set(path, value)),
                onError: failed,
              },
            )
          }
          port={{ ...calls, decide: decided, isDeciding: decide.isPending, error: decide.error }}
          onForgetRule={takeBack}
        />
      )}
    </Loaded>
  );
}
