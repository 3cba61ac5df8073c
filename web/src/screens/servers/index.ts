// Servers: the table, and one server.

import { type AnyRoute, createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { frameRoute } from "../root";

export const serversRoute = createRoute({
  getParentRoute: () => frameRoute,
  path: "/servers",
  component: lazyRouteComponent(() => import("./Screen"), "ServersScreen"),
});

export const serverRoute = createRoute({ getParentRoute: () => serversRoute, path: "$id" });

export const routes: AnyRoute[] = [serversRoute.addChildren([serverRoute])];
