// Overview: what needs a person, and how the servers are.

import { type AnyRoute, createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { frameRoute } from "../root";

export const overviewRoute = createRoute({
  getParentRoute: () => frameRoute,
  path: "/",
  component: lazyRouteComponent(() => import("./Screen"), "OverviewScreen"),
});

export const routes: AnyRoute[] = [overviewRoute];
