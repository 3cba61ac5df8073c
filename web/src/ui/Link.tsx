// Links within the interface. What is pressed with a modifier opens in another tab, as everywhere.

import {
  type ComponentProps,
  createContext,
  type MouseEvent,
  type ReactNode,
  useContext,
  useMemo,
} from "react";

/** Where the page is, and how it goes elsewhere. The router provides it; tests and the gallery have their own. */
export interface Location {
  path: string;
  search: URLSearchParams;
  navigate(to: string, options?: { replace?: boolean }): void;
}

const LocationContext = createContext<Location>({
  path: "/",
  search: new URLSearchParams(),
  navigate: to => window.location.assign(to),
});

export function LocationProvider({ value, children }: { value: Location; children: ReactNode }) {
  return <LocationContext.Provider value={value}>{children}</LocationContext.Provider>;
}

export function useLocation(): Location {
  return useContext(LocationContext);
}

export type LinkProps = Omit<ComponentProps<"a">, "href"> & { to: string };

export function Link({ to, onClick, ...rest }: LinkProps) {
  const { navigate } = useLocation();
  const follow = (event: MouseEvent<HTMLAnchorElement>) => {
    onClick?.(event);
    const isPlain =
      event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
    if (event.defaultPrevented || !isPlain) return;
    event.preventDefault();
    navigate(to);
  };
  return <a {...rest} href={to} onClick={follow} />;
}

/** What is chosen on a screen: the part of the path after its own. */
export function useChosen(): string | null {
  const id = useLocation().path.split("/")[2];
  if (!id) return null;
  try {
    return decodeURIComponent(id);
  } catch {
    // Somebody wrote the address by hand.
    return id;
  }
}

/** Filters in the URL: reads them, and changes some without losing the others. */
export function useSearchFilters(): {
  get(name: string): string | null;
  set(values: Record<string, string | null>): void;
} {
  const { path, search, navigate } = useLocation();
  return useMemo(
    () => ({
      get: name => search.get(name),
      set(values) {
        const next = new URLSearchParams(search);
        for (const [name, value] of Object.entries(values)) {
          if (value === null || value === "") next.delete(name);
          else next.set(name, value);
        }
        const text = next.toString();
        navigate(text === "" ? path : `${path}?${text}`, { replace: true });
      },
    }),
    [path, search, navigate],
  );
}
