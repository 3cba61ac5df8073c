// The words for states and risks, the same on every screen.

import { Ban, CircleCheck, CircleSlash, Clock, type LucideIcon, TimerOff } from "lucide-react";
import type { Approval } from "@/api/types";
import { type Key, useText } from "@/messages";
import { Badge, Status, type Tone, Untrusted } from "@/ui";

const STATES: Record<
  Approval["state"],
  { tone: Tone; icon: LucideIcon; label: Key & `approvals.state.${string}` }
> = {
  pending: { tone: "info", icon: Clock, label: "approvals.state.pending" },
  approved: { tone: "ok", icon: CircleCheck, label: "approvals.state.approved" },
  denied_continue: { tone: "warn", icon: Ban, label: "approvals.state.denied_continue" },
  denied_abort: { tone: "danger", icon: CircleSlash, label: "approvals.state.denied_abort" },
  expired: { tone: "idle", icon: TimerOff, label: "approvals.state.expired" },
  cancelled: { tone: "idle", icon: CircleSlash, label: "approvals.state.cancelled" },
  orphaned: { tone: "idle", icon: CircleSlash, label: "approvals.state.orphaned" },
  claimed: { tone: "info", icon: Clock, label: "approvals.state.claimed" },
  done: { tone: "ok", icon: CircleCheck, label: "approvals.state.done" },
};

export function ApprovalState({ state }: { state: Approval["state"] }) {
  const t = useText();
  const { tone, icon, label } = STATES[state];
  return (
    <Status tone={tone} icon={icon}>
      {t(label)}
    </Status>
  );
}

const RISKS: Record<string, { tone: Tone; label: Key & `risk.${"low" | "medium" | "high" | "critical"}` }> = {
  low: { tone: "ok", label: "risk.low" },
  medium: { tone: "info", label: "risk.medium" },
  high: { tone: "warn", label: "risk.high" },
  critical: { tone: "danger", label: "risk.critical" },
};

export function Risk({ level }: { level: string }) {
  const t = useText();
  const risk = RISKS[level];
  return (
    <Badge tone={risk?.tone ?? "idle"}>{risk ? t(risk.label) : <Untrusted text={level} isLine />}</Badge>
  );
}

export function Effects({ tags }: { tags: readonly string[] }) {
  const t = useText();
  if (tags.length === 0) return <span className="muted">{t("risk.no_effects")}</span>;
  return (
    <span className="button-row">
      {tags.map(tag => (
        <Badge key={tag}>
          <Untrusted text={tag} isLine />
        </Badge>
      ))}
    </span>
  );
}
