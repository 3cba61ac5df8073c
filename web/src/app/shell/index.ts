export { Palette, type PaletteGroup, type PaletteItem } from "./Palette";
export { type Connection, Shell, type ShellProps } from "./Shell";
export { isWithin, SCREENS, type Screen } from "./screens";
export { applyTheme, setTheme, type Theme, useTheme } from "./theme";
