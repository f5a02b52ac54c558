// The visible part of a long list: only its rows are in the page. All rows have the same height.

import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

/** Extra rows beyond the edge, to avoid flicker. */
const MARGIN = 8;
/** The assumed height until the list is measured. */
const USUAL_HEIGHT = 800;

export interface InSight {
  /** For the scrolling element. */
  readonly ref: RefObject<HTMLDivElement | null>;
  readonly from: number;
  /** The index after the last visible row. */
  readonly to: number;
  /** The width for a row; infinite until measured. */
  readonly width: number;
}

/** Follows the scrolling element. `shown` is a row to scroll to when it changes, or -1. */
export function useInSight(rows: number, rowHeight: number, shown = -1): InSight {
  const ref = useRef<HTMLDivElement>(null);
  const [seen, setSeen] = useState({ top: 0, height: USUAL_HEIGHT, width: Number.POSITIVE_INFINITY });
  useLayoutEffect(() => {
    const element = ref.current;
    if (element === null) return undefined;
    const look = (): void =>
      setSeen({ top: element.scrollTop, height: element.clientHeight, width: element.clientWidth });
    const observer = new ResizeObserver(look);
    observer.observe(element);
    element.addEventListener('scroll', look, { passive: true });
    look();
    return () => {
      observer.disconnect();
      element.removeEventListener('scroll', look);
    };
  }, [rows === 0]);
  useEffect(() => {
    const element = ref.current;
    if (element === null || shown < 0) return;
    const { scrollTop, clientHeight } = element;
    const isSeen = shown * rowHeight >= scrollTop && (shown + 1) * rowHeight <= scrollTop + clientHeight;
    if (!isSeen) element.scrollTop = (shown + 0.5) * rowHeight - clientHeight / 2;
  }, [shown, rows === 0]);
  const from = Math.max(0, Math.floor(seen.top / rowHeight) - MARGIN);
  const to = Math.min(rows, Math.ceil((seen.top + seen.height) / rowHeight) + MARGIN);
  return { ref, from, to, width: seen.width };
}
