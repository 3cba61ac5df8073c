// Approvals: the calls that wait for a person, and those that were decided.

import { type AnyRoute, createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { frameRoute } from "../root";

/** What the address says besides the call. */
export interface ApprovalsSearch {
  view?: "past";
}

export const approvalsRoute = createRoute({
  getParentRoute: () => frameRoute,
  path: "/approvals",
  validateSearch: (search: Record<string, unknown>): ApprovalsSearch =>
    search.view === "past" ? { view: "past" } : {},
  component: lazyRouteComponent(() => import("./ApprovalsScreen"), "ApprovalsScreen"),
});

/** The screen shows the chosen call beside the list. */
export const approvalRoute = createRoute({ getParentRoute: () => approvalsRoute, path: "$id" });

export const routes: AnyRoute[] = [approvalsRoute.addChildren([approvalRoute])];
