// Calls a listener of the program. If the listener throws, the program gets an uncaught error in a separate turn, and
// the connection goes on unchanged; an `EventTarget` does the same.

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

/**
 * Hands a message to the listeners. A failure with one message goes to `onerror`, if there is one; the next message is
 * handed on all the same.
 */
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
