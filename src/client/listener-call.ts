// Calls a listener of the program's. What it throws is the program's to hear of, as an uncaught error in a turn of its
// own, and changes nothing of what the connection does; an `EventTarget` does the same.

export function callListener(call: () => void): void {
  try {
    call();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}

interface MessageListeners<Message> {
  readonly onmessage?: ((message: Message) => void) | undefined;
  readonly onerror?: ((error: Error) => void) | undefined;
}

/** A failure with one message goes to `onerror`, where there is one; the next message is handed on all the same. */
export function handMessage<Message>(listeners: MessageListeners<Message>, read: () => Message): void {
  callListener(() => {
    try {
      listeners.onmessage?.(read());
    } catch (error) {
      if (listeners.onerror === undefined) throw error;
      listeners.onerror(error as Error);
    }
  });
}
