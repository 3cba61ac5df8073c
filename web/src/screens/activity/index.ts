// Activity: calls as they come, and one call.

import { type AnyRoute, createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { frameRoute } from "../root";

export const activityRoute = createRoute({
  getParentRoute: () => frameRoute,
  path: "/activity",
  component: lazyRouteComponent(() => import("./Screen"), "ActivityScreen"),
});

/** The screen shows the chosen one beside the list. */
export const chosenRoute = createRoute({ getParentRoute: () => activityRoute, path: "$id" });

export const routes: AnyRoute[] = [activityRoute.addChildren([chosenRoute])];
