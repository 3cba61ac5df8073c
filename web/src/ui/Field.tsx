// What takes input: text, choices, switches. A field ties a label, help and an error to its control.

import { ChevronDown } from "lucide-react";
import { type ComponentProps, cloneElement, type ReactElement, type ReactNode, useId } from "react";
import { oneLine } from "../lib/untrusted";
import { cx } from "./cx";

export function Input({ className, ...rest }: ComponentProps<"input">) {
  return <input {...rest} className={cx("input", className)} />;
}

export function Textarea({ className, isCode, ...rest }: ComponentProps<"textarea"> & { isCode?: boolean }) {
  return (
    <textarea
      spellCheck={isCode ? false : undefined}
      {...rest}
      className={cx("textarea", isCode && "textarea--code", className)}
    />
  );
}

export interface Option {
  value: string;
  label: string;
}

/** The choice of one of a few. The browser's own, which works with any keyboard and on any screen. */
export function Select({
  options,
  className,
  ...rest
}: ComponentProps<"select"> & { options: readonly Option[] }) {
  return (
    <span className="select-box">
      <select {...rest} className={cx("select", className)}>
        {options.map(option => (
          <option key={option.value} value={option.value}>
            {oneLine(option.label, 120)}
          </option>
        ))}
      </select>
      <ChevronDown size={14} aria-hidden />
    </span>
  );
}

type ChoiceProps = Omit<ComponentProps<"input">, "type"> & { label: ReactNode; isLabelHidden?: boolean };

function Choice({ label, isLabelHidden, className, ...rest }: ChoiceProps) {
  return (
    <label className={cx("choice", className)}>
      <input {...rest} type="checkbox" />
      <span className={cx(isLabelHidden && "visually-hidden")}>{label}</span>
    </label>
  );
}

export function Checkbox(props: ChoiceProps) {
  return <Choice {...props} />;
}

/** Something that takes effect as soon as it is switched. */
export function Switch(props: ChoiceProps) {
  return <Choice {...props} role="switch" />;
}

interface FieldProps {
  label: ReactNode;
  help?: ReactNode;
  error?: ReactNode;
  /** The control; it gets the id and the description. */
  children: ReactElement<Record<string, unknown>>;
}

export function Field({ label, help, error, children }: FieldProps) {
  const id = useId();
  const described = cx(help != null && `${id}-help`, error != null && `${id}-error`);
  return (
    <div className="field">
      <label className="field-label" htmlFor={id}>
        {label}
      </label>
      {cloneElement(children, {
        id,
        "aria-describedby": described || undefined,
        "aria-invalid": error != null || undefined,
      })}
      {help != null && (
        <div id={`${id}-help`} className="field-help">
          {help}
        </div>
      )}
      {error != null && (
        <div id={`${id}-error`} className="field-error" role="alert">
          {error}
        </div>
      )}
    </div>
  );
}
