// Agents: what each is doing, and one agent.

import { type AnyRoute, createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { frameRoute } from "../root";

export const agentsRoute = createRoute({
  getParentRoute: () => frameRoute,
  path: "/agents",
  component: lazyRouteComponent(() => import("./Screen"), "AgentsScreen"),
});

/** The screen shows the chosen one beside the list. */
export const chosenRoute = createRoute({ getParentRoute: () => agentsRoute, path: "$id" });

export const routes: AnyRoute[] = [agentsRoute.addChildren([chosenRoute])];
