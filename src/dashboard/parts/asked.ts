// The answer of a method, requested by a screen while it is shown.

import { useEffect, useRef, useState } from 'preact/hooks';
import { ask } from '../connection.ts';
import { daemon } from '../state.ts';

export interface Asked<Answer> {
  readonly answer: Answer | undefined;
  readonly error: unknown;
  readonly isAsking: boolean;
  readonly again: () => void;
}

/** Asks when a screen appears, when its params change, and for each new daemon; `everyMs` repeats it. */
export function useAsked<Answer>(method: string, params: object = {}, everyMs?: number): Asked<Answer> {
  const [state, setState] = useState<{ answer?: Answer; error?: unknown; isAsking: boolean }>({ isAsking: true });
  const [turn, setTurn] = useState(0);
  const key = JSON.stringify(params);
  const asked = useRef('');
  const { generation } = daemon.value;
  useEffect(() => {
    const gone = new AbortController();
    // An answer for other params does not apply.
    const isOther = asked.current !== method + key;
    asked.current = method + key;
    setState((before) => (isOther ? { isAsking: true } : { ...before, isAsking: true }));
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = async (): Promise<void> => {
      try {
        const answer = await ask<Answer>(method, params, gone.signal);
        if (!gone.signal.aborted) setState({ answer, isAsking: false });
      } catch (error) {
        if (!gone.signal.aborted) setState((before) => ({ ...before, error, isAsking: false }));
      }
      if (everyMs !== undefined && !gone.signal.aborted) timer = setTimeout(() => void look(), everyMs);
    };
    void look();
    return () => {
      gone.abort();
      clearTimeout(timer);
    };
  }, [method, key, generation, turn, everyMs]);
  return { answer: state.answer, error: state.error, isAsking: state.isAsking, again: () => setTurn((n) => n + 1) };
}
