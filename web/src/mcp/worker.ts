// The worker that all tabs of this browser share. Browsers open six connections to an origin: without it the sixth
// tab would wait for the first five.

import { Host } from "./host";

/** TypeScript has no worker and page in one project. */
interface WorkerScope {
  location: Location;
  onconnect: ((event: MessageEvent) => void) | null;
}

const scope = self as unknown as WorkerScope;
const host = new Host(scope.location.origin);

scope.onconnect = event => {
  const [port] = event.ports;
  if (port) host.add(port);
};
