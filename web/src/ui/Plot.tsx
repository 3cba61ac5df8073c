// A small plot over time, in the colours of the page. What it shows is in its label too, for those who cannot see it.

import { useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { useFormat } from "../messages/format";

export interface Series {
  label: string;
  /** A variable of the tokens. */
  color: "accent" | "ok" | "warn" | "danger" | "info";
  values: readonly (number | null)[];
  isFilled?: boolean;
}

interface PlotProps {
  title: string;
  /** Milliseconds since 1970. */
  times: readonly number[];
  series: readonly Series[];
  height?: number;
  /** How a value is written. */
  write(value: number): string;
  /** The latest value, or a sum. */
  summary?: string;
}

export function Plot({ title, times, series, height = 120, write, summary }: PlotProps) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const format = useFormat();
  const writer = useRef(write);
  writer.current = write;
  const shape = series
    .map(one => `${one.label}\u0000${one.color}\u0000${one.isFilled ? 1 : 0}`)
    .join("\u0001");

  // biome-ignore lint/correctness/useExhaustiveDependencies: new values are set below; only another shape needs a new plot
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const build = () => {
      plot.current?.destroy();
      plot.current = new uPlot(
        optionsOf(
          element,
          series,
          height,
          value => writer.current(value),
          at => format.clock(at).replace(/:\d\d(?=\D*$)/, ""),
        ),
        dataOf(times, series),
        element,
      );
    };
    build();
    const sizes = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height }));
    sizes.observe(element);
    const scheme = window.matchMedia("(prefers-color-scheme: dark)");
    scheme.addEventListener("change", build);
    const theme = new MutationObserver(build);
    theme.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    return () => {
      sizes.disconnect();
      theme.disconnect();
      scheme.removeEventListener("change", build);
      plot.current?.destroy();
      plot.current = null;
    };
  }, [shape, height, format]);

  useEffect(() => {
    plot.current?.setData(dataOf(times, series));
  }, [times, series]);

  return (
    <figure className="plot">
      <div className="plot-head">
        <h2>{title}</h2>
        {summary !== undefined && <span className="muted">{summary}</span>}
      </div>
      <div ref={box} role="img" aria-label={summary === undefined ? title : `${title}: ${summary}`} />
      <figcaption className="plot-legend">
        {series.map(one => (
          <span key={one.label}>
            <span className="plot-key" style={{ background: `var(--${one.color})` }} />
            {one.label}
          </span>
        ))}
      </figcaption>
    </figure>
  );
}

function dataOf(times: readonly number[], series: readonly Series[]): uPlot.AlignedData {
  return [times.map(at => at / 1_000), ...series.map(one => [...one.values])];
}

function optionsOf(
  element: HTMLElement,
  series: readonly Series[],
  height: number,
  write: (value: number) => string,
  clock: (at: number) => string,
): uPlot.Options {
  const styles = getComputedStyle(element);
  const color = (name: string) => styles.getPropertyValue(`--${name}`).trim();
  const axis: uPlot.Axis = {
    stroke: color("text-faint"),
    font: `11px ${color("font")}`,
    grid: { stroke: color("border"), width: 1 },
    ticks: { show: false },
  };
  return {
    width: Math.max(80, element.clientWidth),
    height,
    legend: { show: false },
    cursor: { points: { size: 5 }, drag: { x: false, y: false } },
    padding: [6, 4, 0, 0],
    scales: { y: { range: (_, __, max) => [0, Math.max(max * 1.1, 1)] } },
    axes: [
      {
        ...axis,
        size: 22,
        space: 70,
        grid: { show: false },
        values: (_, at) => at.map(second => clock(second * 1_000)),
      },
      { ...axis, size: 44, space: 28, values: (_, values) => values.map(write) },
    ],
    series: [
      {},
      ...series.map(one => ({
        label: one.label,
        stroke: color(one.color),
        width: 1.5,
        points: { show: false },
        ...(one.isFilled && { fill: `${color(one.color)}22` }),
      })),
    ],
  };
}
