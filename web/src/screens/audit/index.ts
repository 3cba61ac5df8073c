// Audit: the records, newest first, and whether they are intact.

import { type AnyRoute, createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { frameRoute } from "../root";

export const auditRoute = createRoute({
  getParentRoute: () => frameRoute,
  path: "/audit",
  component: lazyRouteComponent(() => import("./Screen"), "AuditScreen"),
});

export const routes: AnyRoute[] = [auditRoute];
