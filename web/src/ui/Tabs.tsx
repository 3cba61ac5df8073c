// Tabs. Which one is open belongs into the URL, so the screen keeps it.

import { Tabs as Base } from "@base-ui/react/tabs";
import type { ReactNode } from "react";

export interface Tab<K extends string> {
  key: K;
  label: ReactNode;
  content: ReactNode;
}

interface TabsProps<K extends string> {
  label: string;
  tabs: readonly Tab<K>[];
  active: K;
  onChange(key: K): void;
}

export function Tabs<K extends string>({ label, tabs, active, onChange }: TabsProps<K>) {
  return (
    <Base.Root value={active} onValueChange={value => onChange(value as K)}>
      <Base.List className="tabs-list" aria-label={label}>
        {tabs.map(tab => (
          <Base.Tab key={tab.key} value={tab.key} className="tab">
            {tab.label}
          </Base.Tab>
        ))}
      </Base.List>
      {tabs.map(tab => (
        <Base.Panel key={tab.key} value={tab.key} className="tab-panel">
          {tab.content}
        </Base.Panel>
      ))}
    </Base.Root>
  );
}
