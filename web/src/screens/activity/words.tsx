// The words for decisions and outcomes.

import { type Key, useText } from "@/messages";
import { Status, type Tone, Untrusted } from "@/ui";

const DECISIONS: Record<string, { tone: Tone; label: Key & `decision.${string}` }> = {
  allow: { tone: "ok", label: "decision.allow" },
  ask: { tone: "info", label: "decision.ask" },
  deny_continue: { tone: "warn", label: "decision.deny_continue" },
  deny_abort: { tone: "danger", label: "decision.deny_abort" },
  pass: { tone: "ok", label: "decision.pass" },
  deny: { tone: "warn", label: "decision.deny" },
};

export function Decision({ value }: { value: string | null }) {
  const t = useText();
  if (value === null) return <span className="faint">–</span>;
  const known = DECISIONS[value];
  return (
    <Status tone={known?.tone ?? "idle"}>{known ? t(known.label) : <Untrusted text={value} isLine />}</Status>
  );
}

const OUTCOMES: Record<string, { tone: Tone; label: Key & `outcome.${string}` }> = {
  running: { tone: "info", label: "outcome.running" },
  waiting: { tone: "info", label: "outcome.waiting" },
  approved: { tone: "info", label: "outcome.approved" },
  denied: { tone: "warn", label: "outcome.denied" },
  completed: { tone: "ok", label: "outcome.completed" },
  tool_error: { tone: "danger", label: "outcome.tool_error" },
  failed: { tone: "danger", label: "outcome.failed" },
  expired: { tone: "idle", label: "outcome.expired" },
  cancelled: { tone: "idle", label: "outcome.cancelled" },
};

export const OUTCOME_NAMES = ["completed", "failure", "denied", "waiting", "running"] as const;

export function Outcome({ value }: { value: string }) {
  const t = useText();
  const known = OUTCOMES[value];
  return (
    <Status tone={known?.tone ?? "danger"}>
      {known ? t(known.label) : <Untrusted text={value} isLine />}
    </Status>
  );
}
