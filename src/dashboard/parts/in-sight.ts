// The part of a long list that is in sight: only its rows are in the page. All rows are of one height.

import type { RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

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
}

/** Follows the element that scrolls. `first` is a row to begin with in the middle, or -1. */
export function useInSight(rows: number, rowHeight: number, first = -1): InSight {
  const ref = useRef<HTMLDivElement>(null);
  const [seen, setSeen] = useState({ top: 0, height: USUAL_HEIGHT });
  useEffect(() => {
    const element = ref.current;
    if (element === null) return undefined;
    const look = (): void => setSeen({ top: element.scrollTop, height: element.clientHeight });
    const observer = new ResizeObserver(look);
    observer.observe(element);
    element.addEventListener('scroll', look, { passive: true });
    if (first >= 0 && (first + 1) * rowHeight > element.clientHeight)
      element.scrollTop = (first + 0.5) * rowHeight - element.clientHeight / 2;
    look();
    return () => {
      observer.disconnect();
      element.removeEventListener('scroll', look);
    };
  }, [rows === 0]);
  const from = Math.max(0, Math.floor(seen.top / rowHeight) - MARGIN);
  return { ref, from, to: Math.min(rows, Math.ceil((seen.top + seen.height) / rowHeight) + MARGIN) };
}
