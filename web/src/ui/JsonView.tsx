// A JSON value to read: folded where it is long, with masked values that can be shown one by one.

import { ChevronDown, ChevronRight, EyeOff } from "lucide-react";
import { useState } from "react";
import { countValues, isContainer, membersOf, pointerOf } from "../lib/json";
import { oneLine } from "../lib/untrusted";
import { useText } from "../messages";
import { Button } from "./Button";
import { Untrusted } from "./Untrusted";

export interface Masked {
  /** Where the value is: a JSON pointer. */
  path: string;
  kind: string;
  length: number;
}

interface JsonViewProps {
  value: unknown;
  masked?: readonly Masked[];
  /** Values that were shown, by path. */
  revealed?: ReadonlyMap<string, string>;
  onReveal?(path: string): void;
  /** The pointer of the value itself. */
  path?: string;
}

/** Members beyond these are shown when somebody asks. */
const MEMBERS_MAX = 100;

export function JsonView(props: JsonViewProps) {
  const { value, path = "" } = props;
  return (
    <div className="json">
      <Node {...props} name={null} value={value} path={path} depth={0} />
    </div>
  );
}

type NodeProps = JsonViewProps & { name: string | null; path: string; depth: number };

function Node(props: NodeProps) {
  const { value, path, name } = props;
  const masked = props.masked?.find(one => one.path === path);
  if (masked)
    return (
      <Line name={name}>
        <MaskedValue {...props} one={masked} />
      </Line>
    );
  if (isContainer(value)) return <Container {...props} value={value} />;
  return (
    <Line name={name}>
      <Scalar value={value} />
    </Line>
  );
}

function Line({ name, children }: { name: string | null; children: React.ReactNode }) {
  return (
    <div className="json-line">
      {name !== null && (
        <span className="json-key">
          <Untrusted text={name} isLine />:
        </span>
      )}
      {children}
    </div>
  );
}

function Scalar({ value }: { value: unknown }) {
  if (typeof value === "string") {
    return (
      <span className="json-value json-value--string">
        <Untrusted text={value} />
      </span>
    );
  }
  const kind = typeof value === "number" ? "number" : "literal";
  return <span className={`json-value json-value--${kind}`}>{String(value)}</span>;
}

function Container(props: NodeProps & { value: object }) {
  const { value, name, path, depth } = props;
  const t = useText();
  const members = membersOf(value);
  const [isOpen, setOpen] = useState(() => depth === 0 || countValues(value, 30) < 30);
  const [limit, setLimit] = useState(MEMBERS_MAX);
  const label = name === null ? t("json.root") : oneLine(name, 60);
  const count = t(Array.isArray(value) ? "json.items" : "json.members", { count: members.length });
  if (members.length === 0) return <Line name={name}>{Array.isArray(value) ? "[]" : "{}"}</Line>;
  const list = (
    <ul>
      {members.slice(0, limit).map(([key, member]) => (
        <li key={key}>
          <Node {...props} name={key} value={member} path={pointerOf(path, key)} depth={depth + 1} />
        </li>
      ))}
      {members.length > limit && (
        <li>
          <Button isSmall onClick={() => setLimit(limit * 10)}>
            {t("json.items", { count: members.length - limit })}…
          </Button>
        </li>
      )}
    </ul>
  );
  if (depth === 0) return list;
  return (
    <>
      <div className="json-line">
        <button
          type="button"
          className="json-fold"
          aria-expanded={isOpen}
          aria-label={t(isOpen ? "json.fold" : "json.unfold", { name: label })}
          onClick={() => setOpen(!isOpen)}
        >
          {isOpen ? <ChevronDown size={14} aria-hidden /> : <ChevronRight size={14} aria-hidden />}
        </button>
        {name !== null && (
          <span className="json-key">
            <Untrusted text={name} isLine />:
          </span>
        )}
        <span className="faint">{count}</span>
      </div>
      {isOpen && list}
    </>
  );
}

function MaskedValue({ one, revealed, onReveal, path }: NodeProps & { one: Masked }) {
  const t = useText();
  const shown = revealed?.get(path);
  if (shown !== undefined) return <Untrusted text={shown} className="json-value" />;
  return (
    <span className="json-masked">
      <span className="badge badge--warn">
        <EyeOff size={12} aria-hidden />
        <Untrusted text={one.kind} isLine />
      </span>
      <span className="faint">{t("json.masked", { count: one.length })}</span>
      {onReveal && (
        <Button
          isSmall
          aria-label={t("json.reveal_label", { path: path || "/" })}
          onClick={() => onReveal(path)}
        >
          {t("json.reveal")}
        </Button>
      )}
    </span>
  );
}
