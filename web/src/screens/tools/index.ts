// Tools: the catalogue, one tool, and quarantined definitions.

import { type AnyRoute, createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { frameRoute } from "../root";

export const toolsRoute = createRoute({
  getParentRoute: () => frameRoute,
  path: "/tools",
  component: lazyRouteComponent(() => import("./Screen"), "ToolsScreen"),
});

/** The screen shows the chosen one beside the list. */
export const chosenRoute = createRoute({ getParentRoute: () => toolsRoute, path: "$id" });

export const routes: AnyRoute[] = [toolsRoute.addChildren([chosenRoute])];
