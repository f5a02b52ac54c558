// The part of a long list that is in sight: only its rows are in the page. All rows are of one height.

import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

/** Rows beyond the edge, so that nothing flickers. */
const MARGIN = 8;
/** The height until the list is measured. */
const USUAL_HEIGHT = 800;

export interface InSight {
  /** For the element that scrolls. */
  readonly ref: RefObject<HTMLDivElement | null>;
  readonly from: number;
  /** The place behind the last one. */
  readonly to: number;
  /** The room for a row; infinite until it is measured. */
  readonly width: number;
}

/** Follows the element that scrolls. `shown` is a row to bring in sight when it becomes another one, or -1. */
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
