// The words of the interface: one catalogue per language, with the same keys.

import { createContext, type ReactNode, useCallback, useContext, useEffect, useMemo, useState } from "react";
import { oneLine } from "../lib/untrusted";
import { en } from "./en";
import { zh } from "./zh";

export type Key = keyof typeof en;
/** A text, or one for each form of a number. */
export type Message = string | { one?: string; other: string };
export type Catalogue = Record<Key, Message>;

type TextOf<M> = M extends string ? M : M extends { other: infer O } ? O : never;
type Names<T> = T extends `${string}{${infer N}}${infer Rest}` ? N | Names<Rest> : never;
type Values<K extends Key> = Names<TextOf<(typeof en)[K]>>;
type Arguments<K extends Key> = [Values<K>] extends [never]
  ? []
  : [values: Record<Values<K>, string | number>];

/** The text of a key, with its values put in. */
export type Translate = <K extends Key>(key: K, ...values: Arguments<K>) => string;

export const languages = { en: "English", zh: "中文" } as const;
export type Language = keyof typeof languages;

const catalogues: Record<Language, Catalogue> = { en, zh };
const KEPT_UNDER = "octroi-language";

interface Spoken {
  language: Language;
  locale: string;
  setLanguage(language: Language): void;
  t: Translate;
}

const LanguageContext = createContext<Spoken | null>(null);

export function translator(language: Language): Translate {
  const [catalogue, rules] = [catalogues[language], new Intl.PluralRules(language)];
  const numbers = new Intl.NumberFormat(localeOf(language));
  return (key, ...[values]) => {
    const given = (values ?? {}) as Record<string, string | number>;
    const message = catalogue[key];
    const text =
      typeof message === "string"
        ? message
        : (rules.select(Number(given.count)) === "one" && message.one) || message.other;
    return text.replace(/\{(\w+)\}/g, (_, name: string) => {
      const value = given[name] ?? "";
      // Names come from anywhere. Where a message stands there is no room to mark what they hide, so they are escaped.
      return typeof value === "number" ? numbers.format(value) : oneLine(value);
    });
  };
}

function localeOf(language: Language): string {
  return language === "zh"
    ? "zh-CN"
    : (globalThis.navigator?.languages?.find(one => one.startsWith("en")) ?? "en");
}

function firstLanguage(): Language {
  const kept = localStorage.getItem(KEPT_UNDER);
  if (kept === "en" || kept === "zh") return kept;
  return navigator.language.startsWith("zh") ? "zh" : "en";
}

export function LanguageProvider({ children }: { children: ReactNode }) {
  const [language, setLanguage] = useState<Language>(firstLanguage);
  const change = useCallback((language: Language) => {
    localStorage.setItem(KEPT_UNDER, language);
    setLanguage(language);
  }, []);
  useEffect(() => {
    document.documentElement.lang = language === "zh" ? "zh-Hans" : "en";
  }, [language]);
  const spoken = useMemo<Spoken>(
    () => ({ language, locale: localeOf(language), setLanguage: change, t: translator(language) }),
    [language, change],
  );
  return <LanguageContext.Provider value={spoken}>{children}</LanguageContext.Provider>;
}

/** The language in use. */
export function useLanguage(): Spoken {
  const spoken = useContext(LanguageContext);
  if (!spoken) throw new Error("there is no language around this component");
  return spoken;
}

/** The texts of the language in use. */
export function useText(): Translate {
  return useLanguage().t;
}
