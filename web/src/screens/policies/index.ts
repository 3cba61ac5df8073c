// Policies: the active ones, an editor with tests and replay, and what agents propose.

import { type AnyRoute, createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { frameRoute } from "../root";

export const policiesRoute = createRoute({
  getParentRoute: () => frameRoute,
  path: "/policies",
  component: lazyRouteComponent(() => import("./Screen"), "PoliciesScreen"),
});

export const routes: AnyRoute[] = [policiesRoute];
