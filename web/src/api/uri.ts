// Resources by kind, with their URIs made from the table.

import { resources } from "./tables";
import type { ResourceContents, ResourceVariables } from "./types";

export type ResourceKind = keyof ResourceContents;

/** One resource; the kind says what is read from it. */
export interface ResourceRef<K extends ResourceKind = ResourceKind> {
  kind: K;
  uri: string;
}

type Variables<K extends ResourceKind> =
  ResourceVariables[K] extends Record<string, never> ? [] : [variables: ResourceVariables[K]];

/** A resource, by its kind and what its URI names. */
export function resource<K extends ResourceKind>(kind: K, ...[variables]: Variables<K>): ResourceRef<K> {
  const values = (variables ?? {}) as Record<string, string>;
  const uri = resources[kind].uri.replace(/\{(\w+)\}/g, (_, name: string) => segment(values[name] ?? ""));
  return { kind, uri };
}

/** The gateway takes ids as they are; only the separator of an owner and a name has to be escaped. */
function segment(value: string): string {
  return value.replaceAll("/", "%2F");
}
