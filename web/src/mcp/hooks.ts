// What screens use: resources that stay current, and operations.

import {
  QueryClient,
  type UseMutationResult,
  type UseQueryResult,
  useMutation,
  useQuery,
} from "@tanstack/react-query";
import { createContext, useContext, useEffect, useSyncExternalStore } from "react";
import type { Operations, ResourceContents } from "../api/types";
import type { ResourceKind, ResourceRef } from "../api/uri";
import type { GatewayClient } from "./client";
import type { ApiError } from "./failure";
import { Freshness } from "./freshness";
import type { ConnectionState, Person } from "./protocol";

type OperationName = keyof Operations;
type Request<N extends OperationName> = Operations[N]["request"];
type Response<N extends OperationName> = Operations[N]["response"];

export const GatewayContext = createContext<GatewayClient | null>(null);

/** The tab's connection. */
export function useGateway(): GatewayClient {
  const client = useContext(GatewayContext);
  if (!client) throw new Error("there is no gateway around this component");
  return client;
}

/** Whether the gateway is reached, and who is signed in. */
export function useConnection(): ConnectionState {
  const client = useGateway();
  return useSyncExternalStore(client.onState, client.state);
}

/** Who is signed in. Screens are shown only to somebody. */
export function usePerson(): Person | null {
  const state = useConnection();
  return "person" in state ? state.person : null;
}

/** The URIs whose changes make a query stale. */
interface QueryMeta extends Record<string, unknown> {
  uris: string[];
}

/** A cache that reads again what has changed. */
export function createQueryClient(client: GatewayClient): QueryClient {
  const queries = new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: Number.POSITIVE_INFINITY,
        gcTime: 5 * 60_000,
        retry: false,
        // The gateway is often on this machine: whether there is a network says nothing.
        networkMode: "always",
        refetchOnWindowFocus: false,
        refetchOnReconnect: false,
      },
      mutations: { networkMode: "always", retry: false },
    },
  });
  const dependsOn = (uri: string) => ({
    predicate: (query: { meta: unknown }) =>
      (query.meta as QueryMeta | undefined)?.uris.includes(uri) ?? false,
  });
  const freshness = new Freshness(uri => queries.invalidateQueries(dependsOn(uri), { cancelRefetch: false }));
  client.onChanges({
    updated: uri => freshness.changed(uri),
    uncovered: uri => void queries.invalidateQueries({ ...dependsOn(uri), refetchType: "none" }),
    stale: () => void queries.invalidateQueries(),
  });
  client.onState(() => {
    // Nothing of one person is left for the next one.
    if (client.state().kind === "signed_out") queries.clear();
  });
  return queries;
}

/** The content of a resource, which stays current while it is shown. `null` reads nothing. */
export function useResource<K extends ResourceKind>(
  ref: ResourceRef<K> | null,
): UseQueryResult<ResourceContents[K], ApiError> {
  const client = useGateway();
  const uri = ref?.uri ?? "";
  useWatch(ref ? [uri] : []);
  return useQuery({
    queryKey: ["resource", uri],
    queryFn: ({ signal }) => client.read(uri, signal) as Promise<ResourceContents[K]>,
    meta: { uris: [uri] } satisfies QueryMeta,
    enabled: ref !== null,
  });
}

/** Performs an operation when asked. */
export function useOperation<N extends OperationName>(
  name: N,
): UseMutationResult<Response<N>, ApiError, Request<N>> {
  const client = useGateway();
  return useMutation({
    mutationKey: [name],
    mutationFn: request => client.call(name, request) as Promise<Response<N>>,
  });
}

/** What a reading operation answers; asked again when one of the resources in `changesWith` changes. */
export function useQueryOperation<N extends OperationName>(
  name: N,
  request: Request<N>,
  options: { changesWith?: ResourceRef[]; enabled?: boolean; keepPrevious?: boolean } = {},
): UseQueryResult<Response<N>, ApiError> {
  const client = useGateway();
  const uris = (options.changesWith ?? []).map(ref => ref.uri);
  const isEnabled = options.enabled ?? true;
  useWatch(isEnabled ? uris : []);
  return useQuery<Response<N>, ApiError>({
    queryKey: ["operation", name, request],
    queryFn: ({ signal }) => client.call(name, request, signal) as Promise<Response<N>>,
    meta: { uris } satisfies QueryMeta,
    enabled: isEnabled,
    // An answer that nothing reports changes of is asked for anew whenever it is shown.
    staleTime: uris.length > 0 ? Number.POSITIVE_INFINITY : 0,
    ...(options.keepPrevious && {
      placeholderData: (previous: Response<N> | undefined) => previous as never,
    }),
  });
}

function useWatch(uris: string[]): void {
  const client = useGateway();
  const key = uris.join("\n");
  useEffect(() => {
    const ends = key === "" ? [] : key.split("\n").map(uri => client.watch(uri));
    return () => {
      for (const end of ends) end();
    };
  }, [client, key]);
}
