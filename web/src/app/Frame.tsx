// Fills the shell: who is signed in, whether the gateway is reached, what waits, and what ⌘K finds.

import { Outlet, useRouter, useRouterState } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { resource } from "../api/uri";
import { urls } from "../lib/urls";
import { ApiError, failureOf } from "../mcp/failure";
import { useConnection, useGateway, useResource } from "../mcp/hooks";
import type { ConnectionState } from "../mcp/protocol";
import { languages, useLanguage } from "../messages";
import { type Location, LocationProvider, useToast } from "../ui";
import { useAnnounceApprovals } from "./notify";
import { type Connection, type PaletteItem, SCREENS, Shell, setTheme } from "./shell";

export function Frame() {
  const router = useRouter();
  const { pathname, searchStr } = useRouterState({ select: state => state.location });
  const location = useMemo<Location>(
    () => ({
      path: pathname,
      search: new URLSearchParams(searchStr),
      navigate: (to, options) => void router.history[options?.replace ? "replace" : "push"](to),
    }),
    [pathname, searchStr, router],
  );
  return (
    <LocationProvider value={location}>
      <Filled />
    </LocationProvider>
  );
}

function Filled() {
  const state = useConnection();
  const signOut = useSignOut();
  const nPending = usePendingCount();
  const [isPaletteUsed, setPaletteUsed] = useState(false);
  const palette = usePalette(isPaletteUsed, signOut);
  useAnnounceApprovals(useResource(resource("pendingApprovals")).data);
  if (!("person" in state)) return null;
  return (
    <Shell
      connection={connectionOf(state)}
      user={state.person.user}
      role={state.person.role}
      nPending={nPending}
      palette={palette}
      onPaletteOpen={() => setPaletteUsed(true)}
      onSignOut={signOut}
    >
      <Outlet />
    </Shell>
  );
}

/** How many calls wait for this person. */
export function usePendingCount(): number {
  return useResource(resource("pendingApprovals")).data?.length ?? 0;
}

function connectionOf(state: ConnectionState): Connection {
  if (state.kind === "live") return "live";
  return state.kind === "reconnecting" ? "lost" : "connecting";
}

/** Ends the session of this browser, in all its tabs. */
function useSignOut(): () => void {
  const gateway = useGateway();
  const toast = useToast();
  return () => {
    gateway.signOut().catch((thrown: unknown) => {
      const { message, hint } = thrown instanceof ApiError ? thrown.failure : failureOf(thrown);
      toast.failed({ title: message, ...(hint && { description: hint }) });
    });
  };
}

/** What ⌘K finds besides screens. Nothing is read before it was opened once. */
function usePalette(isUsed: boolean, signOut: () => void): readonly PaletteItem[] {
  const { t, setLanguage } = useLanguage();
  const approvals = useResource(isUsed ? resource("pendingApprovals") : null).data;
  const servers = useResource(isUsed ? resource("servers") : null).data;
  const agents = useResource(isUsed ? resource("agents") : null).data;
  const tools = useResource(isUsed ? resource("tools") : null).data;
  return useMemo(() => {
    const items: PaletteItem[] = [];
    for (const { id, tool, principal } of approvals ?? []) {
      items.push({ group: "approvals", id, label: tool, detail: principal, to: urls.approval(id) });
    }
    if (has("servers")) {
      for (const { name, title } of servers?.servers ?? []) {
        items.push({ group: "servers", id: name, label: title ?? name, detail: name, to: urls.server(name) });
      }
    }
    if (has("agents")) {
      for (const { id } of agents ?? []) items.push({ group: "agents", id, label: id, to: urls.agent(id) });
    }
    if (has("tools")) {
      for (const { tool_id: id, name, source_id } of tools?.tools ?? []) {
        items.push({ group: "tools", id, label: name, detail: source_id, to: urls.tool(id) });
      }
    }
    const command = (id: string, label: string, run: () => void) =>
      items.push({ group: "commands", id, label, run });
    for (const theme of ["system", "light", "dark"] as const) {
      const name = `${t("shell.theme")}: ${t(`shell.theme.${theme}`)}`;
      command(`theme ${theme}`, name, () => setTheme(theme));
    }
    for (const language of ["en", "zh"] as const) {
      const name = `${t("shell.language")}: ${languages[language]}`;
      command(`language ${language}`, name, () => setLanguage(language));
    }
    command("sign out", t("shell.sign_out"), signOut);
    return items;
  }, [approvals, servers, agents, tools, t, setLanguage, signOut]);
}

/** Whether a screen is there to go to. */
function has(name: string): boolean {
  return SCREENS.some(screen => screen.name === name);
}
