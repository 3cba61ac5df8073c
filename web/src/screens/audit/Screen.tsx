// Audit, connected.

import type { AuditQueryRequest } from "@/api/types";
import { resource } from "@/api/uri";
import { useOperation, usePerson, useQueryOperation } from "@/mcp/hooks";
import { failureFrom, Loaded, useSearchFilters, useToast } from "@/ui";
import { AUDIT_FILTERS, type AuditFilter, AuditView, RecordView } from "./View";

export function AuditScreen() {
  const toast = useToast();
  const { get, set } = useSearchFilters();
  const isAdmin = usePerson()?.role === "admin";
  const filters: Partial<Record<AuditFilter, string>> = {};
  for (const name of AUDIT_FILTERS) {
    const value = get(name);
    if (value !== null) filters[name] = value;
  }
  const before = Number(get("before")) || null;
  const text = get("q") ?? "";
  const request: AuditQueryRequest = {
    ...filters,
    limit: 200,
    ...(text !== "" && { text }),
    ...(before !== null && { before }),
  };
  const page = useQueryOperation("audit_query", request, {
    // Older records stay where they are while new ones arrive. Only administrators hear of every record.
    changesWith: before === null && isAdmin ? [resource("recentAudit")] : [],
    keepPrevious: true,
  });
  const verify = useOperation("audit_verify");
  const record = Number(get("record")) || null;
  return (
    <Loaded query={page}>
      {data => (
        <AuditView
          records={data.records}
          filters={filters}
          text={text}
          selected={record}
          detail={record === null ? null : <RecordScreen key={record} seq={record} />}
          isOlder={before !== null}
          next={"next" in data ? data.next : null}
          onFilter={set}
          verification={verify.data ?? null}
          isVerifying={verify.isPending}
          onVerify={() =>
            verify.mutate(
              {},
              {
                onError: error => {
                  const { message, hint } = failureFrom(error);
                  toast.failed({ title: message, ...(hint !== undefined && { description: hint }) });
                },
              },
            )
          }
        />
      )}
    </Loaded>
  );
}

function RecordScreen({ seq }: { seq: number }) {
  const records = useQueryOperation("audit_show", { seq });
  return <Loaded query={records}>{data => <RecordView records={data.records} seq={seq} />}</Loaded>;
}
