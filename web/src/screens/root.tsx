// The routes that all screens hang under.

import { createRootRoute, createRoute } from "@tanstack/react-router";
import { Frame } from "../app/Frame";
import { Missing, ScreenFailed } from "../app/Missing";

export const rootRoute = createRootRoute({ notFoundComponent: Missing });

/** Every screen is inside the frame, which nobody sees without signing in. */
export const frameRoute = createRoute({
  id: "frame",
  getParentRoute: () => rootRoute,
  component: Frame,
  errorComponent: ScreenFailed,
  notFoundComponent: Missing,
});
