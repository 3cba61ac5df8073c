// Settings: tokens, users and secrets.

import { type AnyRoute, createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { frameRoute } from "../root";

export const settingsRoute = createRoute({
  getParentRoute: () => frameRoute,
  path: "/settings",
  component: lazyRouteComponent(() => import("./Screen"), "SettingsScreen"),
});

export const routes: AnyRoute[] = [settingsRoute];
