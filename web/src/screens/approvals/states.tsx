// The state of an approval and the risk of a tool, in words.

import type { Approval } from "../../api/types";
import { useText } from "../../messages";
import { Badge, Status, type Tone } from "../../ui";

const STATES = {
  pending: "accent",
  approved: "ok",
  claimed: "info",
  done: "ok",
  denied_continue: "danger",
  denied_abort: "danger",
  expired: "idle",
  cancelled: "idle",
  orphaned: "idle",
} as const satisfies Record<Approval["state"], Tone>;

const RISKS = { low: "idle", medium: "info", high: "warn", critical: "danger" } as const satisfies Record<
  string,
  Tone
>;

export function ApprovalState({ state }: { state: Approval["state"] }) {
  const t = useText();
  return <Status tone={STATES[state]}>{t(`approval.${state}`)}</Status>;
}

export function Risk({ risk }: { risk: string }) {
  const t = useText();
  if (!(risk in RISKS)) return <Badge>{risk}</Badge>;
  const known = risk as keyof typeof RISKS;
  return <Badge tone={RISKS[known]}>{t(`risk.${known}`)}</Badge>;
}
