// A button that opens a list of actions or choices.

import { Menu as Base } from "@base-ui/react/menu";
import { Check } from "lucide-react";
import { Fragment, type ReactElement, type ReactNode } from "react";
import { cx } from "./cx";

export interface MenuItem {
  key: string;
  label: ReactNode;
  icon?: ReactNode;
  isDanger?: boolean;
  isDisabled?: boolean;
  onSelect(): void;
}

export interface MenuChoice {
  key: string;
  label: string;
  value: string;
  options: readonly { value: string; label: ReactNode }[];
  onChange(value: string): void;
}

interface MenuProps {
  trigger: ReactElement;
  label?: ReactNode;
  items?: readonly MenuItem[];
  choices?: readonly MenuChoice[];
}

export function Menu({ trigger, label, items = [], choices = [] }: MenuProps) {
  return (
    <Base.Root>
      <Base.Trigger render={trigger} />
      <Base.Portal>
        <Base.Positioner className="popup-positioner" align="end" sideOffset={6}>
          <Base.Popup className="menu">
            {label != null && <div className="menu-label">{label}</div>}
            {choices.map(choice => (
              <Base.RadioGroup
                key={choice.key}
                value={choice.value}
                onValueChange={choice.onChange}
                aria-label={choice.label}
              >
                <div className="menu-label">{choice.label}</div>
                {choice.options.map(option => (
                  <Base.RadioItem key={option.value} value={option.value} className="menu-item">
                    <span className="menu-item-check">
                      <Base.RadioItemIndicator>
                        <Check size={14} aria-hidden />
                      </Base.RadioItemIndicator>
                    </span>
                    {option.label}
                  </Base.RadioItem>
                ))}
              </Base.RadioGroup>
            ))}
            {items.map((item, i) => (
              <Fragment key={item.key}>
                {i === 0 && choices.length > 0 && <Base.Separator className="menu-separator" />}
                <Base.Item
                  className={cx("menu-item", item.isDanger && "menu-item--danger")}
                  disabled={item.isDisabled ?? false}
                  onClick={item.onSelect}
                >
                  {item.icon}
                  {item.label}
                </Base.Item>
              </Fragment>
            ))}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}
