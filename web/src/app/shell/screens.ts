// The screens of the rail, in their order. Those that have a directory in `src/screens` are shown.

import {
  Activity,
  Bot,
  ClipboardList,
  Gauge,
  Inbox,
  Layers,
  type LucideIcon,
  ScrollText,
  Server,
  Settings,
  Wrench,
} from "lucide-react";
import type { Key } from "../../messages";

export interface Screen {
  name: string;
  to: string;
  label: Key & `nav.${string}`;
  icon: LucideIcon;
}

/** Only the names are needed here, so nothing of the screens is loaded. */
const BUILT = Object.keys(import.meta.glob("../../screens/*/index.ts"));

const ALL: readonly Screen[] = [
  { name: "overview", to: "/", label: "nav.overview", icon: Gauge },
  { name: "approvals", to: "/approvals", label: "nav.approvals", icon: Inbox },
  { name: "activity", to: "/activity", label: "nav.activity", icon: Activity },
  { name: "servers", to: "/servers", label: "nav.servers", icon: Server },
  { name: "tools", to: "/tools", label: "nav.tools", icon: Wrench },
  { name: "agents", to: "/agents", label: "nav.agents", icon: Bot },
  { name: "sessions", to: "/sessions", label: "nav.sessions", icon: Layers },
  { name: "policies", to: "/policies", label: "nav.policies", icon: ScrollText },
  { name: "audit", to: "/audit", label: "nav.audit", icon: ClipboardList },
  { name: "settings", to: "/settings", label: "nav.settings", icon: Settings },
];

export const SCREENS = ALL.filter(screen => BUILT.some(path => path.includes(`/${screen.name}/`)));

/** Whether an address belongs to a screen. */
export function isWithin(screen: Screen, path: string): boolean {
  return screen.to === "/" ? path === "/" : path === screen.to || path.startsWith(`${screen.to}/`);
}
