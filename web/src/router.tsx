// The router. Every directory of `src/screens` with an `index.ts` is a screen, which exports its routes.

import { type AnyRoute, createRouter } from "@tanstack/react-router";
import { frameRoute, rootRoute } from "./screens/root";

const screens = import.meta.glob<AnyRoute[]>("./screens/*/index.ts", { eager: true, import: "routes" });

export const router = createRouter({
  routeTree: rootRoute.addChildren([frameRoute.addChildren(Object.values(screens).flat())]),
  defaultPendingMs: 200,
  scrollRestoration: true,
});
