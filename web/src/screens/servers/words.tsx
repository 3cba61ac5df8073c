// The words for what a server does.

import { CirclePause, CircleSlash, KeyRound, Loader, ShieldAlert } from "lucide-react";
import type { ServerStatus } from "@/api/types";
import { type Key, useText } from "@/messages";
import { Status, type Tone } from "@/ui";

const HEALTH: Record<ServerStatus["health"], Tone> = {
  healthy: "ok",
  degraded: "warn",
  unhealthy: "danger",
  unknown: "idle",
};

const STATES = {
  disabled: { tone: "idle", icon: CircleSlash },
  stopped: { tone: "idle", icon: CirclePause },
  starting: { tone: "info", icon: Loader },
  stopping: { tone: "info", icon: Loader },
  failed: { tone: "danger", icon: ShieldAlert },
  needs_auth: { tone: "warn", icon: KeyRound },
} as const;

/** Health of a running server, else its state. */
export function ServerHealth({ server }: { server: Pick<ServerStatus, "state" | "health"> }) {
  const t = useText();
  if (server.state === "running")
    return <Status tone={HEALTH[server.health]}>{t(`health.${server.health}`)}</Status>;
  const { tone, icon } = STATES[server.state];
  const label: Key = `server_state.${server.state}`;
  return (
    <Status tone={tone} icon={icon}>
      {t(label)}
    </Status>
  );
}
