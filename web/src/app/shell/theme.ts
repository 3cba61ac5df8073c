// Light or dark: as the system says, unless somebody chose.

import { useSyncExternalStore } from "react";

export type Theme = "system" | "light" | "dark";

const KEPT_UNDER = "octroi-theme";
const listeners = new Set<() => void>();

function read(): Theme {
  const kept = localStorage.getItem(KEPT_UNDER);
  return kept === "light" || kept === "dark" ? kept : "system";
}

/** Puts the chosen theme on the page; called once before the first render. */
export function applyTheme(): void {
  const theme = read();
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

export function setTheme(theme: Theme): void {
  if (theme === "system") localStorage.removeItem(KEPT_UNDER);
  else localStorage.setItem(KEPT_UNDER, theme);
  applyTheme();
  for (const listener of listeners) listener();
}

export function useTheme(): Theme {
  return useSyncExternalStore(
    listener => {
      // Another tab may change it too.
      const changed = () => {
        applyTheme();
        listener();
      };
      listeners.add(listener);
      window.addEventListener("storage", changed);
      return () => {
        listeners.delete(listener);
        window.removeEventListener("storage", changed);
      };
    },
    read,
    () => "system",
  );
}
