// What the screens of servers use of templates, ownership and history, whichever operations the gateway has.

import type { UseMutationResult, UseQueryResult } from "@tanstack/react-query";
import type { ApiError } from "@/mcp/failure";
import { useOperation, useQueryOperation } from "@/mcp/hooks";
import type { ServerDetail, ServerStatus } from "./types";
import type { ResourceRef } from "./uri";

export interface Ownership {
  id?: string;
  scope?: string;
  owner?: string;
  managed_by?: string;
  enabled?: boolean;
  enabled_for_me?: boolean;
}

export type OwnedServer = ServerStatus & Ownership;
export type OwnedServerDetail = ServerDetail & Ownership & { entry?: Record<string, unknown> };

export interface TemplateField {
  name: string;
  label: string;
  placeholder: string | null;
  help: string | null;
  required: boolean;
  secret: boolean;
  default: string | null;
  kind: string;
  choices: string[];
  binding: string;
  binds_to: string | null;
}

export interface Template {
  id: string;
  name: string;
  display_name: string;
  description: string;
  category: string;
  verified: boolean;
  note: string | null;
  deprecated: { reason: string; instead: string | null } | null;
  usable: boolean;
  default_config: Record<string, unknown>;
  fields: TemplateField[];
}

export interface ServerRevision {
  revision: number;
  change: string;
  entry: Record<string, unknown> | null;
  at: string;
  by: string;
}

export interface ServerHistory {
  revisions: ServerRevision[];
}

interface ServerOperations {
  templates_list: { request: { category?: string }; response: { templates: Template[] } };
  servers_history: { request: { name: string }; response: ServerHistory };
  servers_update: { request: { name: string; entry: Record<string, unknown> }; response: OwnedServer };
  servers_delete: { request: { name: string; force?: boolean }; response: { last_revision: number } };
  servers_rollback: { request: { name: string; revision: number }; response: OwnedServer };
}

type Name = keyof ServerOperations;

/** `useOperation` for operations on servers that are added at run time. */
export const useServerOperation = useOperation as unknown as <N extends Name>(
  name: N,
) => UseMutationResult<ServerOperations[N]["response"], ApiError, ServerOperations[N]["request"]>;

/** The same for what only reads. */
export const useServerQuery = useQueryOperation as unknown as <N extends Name>(
  name: N,
  request: ServerOperations[N]["request"],
  options?: { changesWith?: ResourceRef[]; enabled?: boolean },
) => UseQueryResult<ServerOperations[N]["response"], ApiError>;
