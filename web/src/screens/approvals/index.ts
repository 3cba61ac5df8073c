// Approvals: the calls that wait for a person, and those that were decided.

import { type AnyRoute, createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { frameRoute } from "../root";

export const approvalsRoute = createRoute({
  getParentRoute: () => frameRoute,
  path: "/approvals",
  component: lazyRouteComponent(() => import("./Screen"), "ApprovalsScreen"),
});

/** The screen shows the chosen one beside the list. */
export const chosenRoute = createRoute({ getParentRoute: () => approvalsRoute, path: "$id" });

export const routes: AnyRoute[] = [approvalsRoute.addChildren([chosenRoute])];
