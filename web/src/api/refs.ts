// Resources that several screens watch only to hear that something has changed.

import { resource } from "./uri";

export const RECENT_CALLS = resource("recentCalls");
export const ATTENTION = resource("attention");
export const serverLog = (name: string) => resource("serverLogs", { id: name });
