// Limits the calls of one program that are under way. Answers wait in the daemon until the process reads them, so a
// program gets as many calls at once as there is room for answers; other calls wait. Reading from the process pauses
// while its waiting arguments are too large. If the process itself neither reads nor is read, it would hang, so these
// two never wait for each other.

export interface CallWindowPorts {
  /** The bytes of answers that the process has not read. */
  readonly waitingBytes: () => number;
  /** Called to pause or resume reading from the process. */
  readonly paused: (isPaused: boolean) => void;
}

interface HeldCall {
  readonly bytes: number;
  readonly begin: () => void;
}

/** The maximum bytes of answers on their way to one process. */
const ROOM_BYTES = 16 * 1024 * 1024;
/** The number of calls before the first answer, while the size of answers is unknown. */
const FIRST_CALLS = 16;
const LEAST_CALLS = 4;
/** The maximum bytes of arguments of calls under way or waiting. */
const MOST_ARGUMENT_BYTES = 4 * 1024 * 1024;
/** The memory of a call without arguments. */
const EACH_BYTES = 1024;

export class CallWindow {
  readonly #ports: CallWindowPorts;
  /** The requested calls; those before the head have begun. */
  #held: HeldCall[] = [];
  #head = 0;
  #heldBytes = 0;
  #open = 0;
  #openBytes = 0;
  #largestAnswer = 0;
  #isPaused = false;
  #isGoingOn = false;

  constructor(ports: CallWindowPorts) {
    this.#ports = ports;
  }

  /** Begins a call with arguments of this size as soon as there is room. */
  add(argumentBytes: number, begin: () => void): void {
    this.#held.push({ bytes: argumentBytes + EACH_BYTES, begin });
    this.#heldBytes += argumentBytes + EACH_BYTES;
    this.goOn();
  }

  /** Notes that a call is answered, and that its answer was sent to the process. */
  ended(argumentBytes: number, answerBytes: number): void {
    this.#open--;
    this.#openBytes -= argumentBytes + EACH_BYTES;
    this.#largestAnswer = Math.max(this.#largestAnswer, answerBytes, 1);
    this.goOn();
  }

  /** Begins the calls that now have room. */
  goOn(): void {
    if (this.#isGoingOn) return; // a call ended while it began
    this.#isGoingOn = true;
    while (this.#mayBegin()) {
      const next = this.#held[this.#head];
      if (next === undefined) break;
      this.#head++;
      this.#heldBytes -= next.bytes;
      this.#open++;
      this.#openBytes += next.bytes;
      next.begin();
    }
    this.#isGoingOn = false;
    if (this.#head === this.#held.length) {
      this.#held = [];
      this.#head = 0;
    }
    this.#pauseOrResume();
  }

  #mayBegin(): boolean {
    // A process that cannot write does not read either, so what it writes must be accepted.
    if (this.#heldBytes > MOST_ARGUMENT_BYTES) return true;
    if (this.#ports.waitingBytes() > ROOM_BYTES) return false;
    const most = this.#largestAnswer === 0 ? FIRST_CALLS : ROOM_BYTES / this.#largestAnswer;
    return this.#open < Math.max(LEAST_CALLS, most);
  }

  #pauseOrResume(): void {
    const isPaused = this.#openBytes > (this.#isPaused ? MOST_ARGUMENT_BYTES / 2 : MOST_ARGUMENT_BYTES);
    if (isPaused === this.#isPaused) return;
    this.#isPaused = isPaused;
    this.#ports.paused(isPaused);
  }

  /** Begins no more calls. */
  close(): void {
    this.#held = [];
    this.#head = 0;
    this.#heldBytes = 0;
  }
}
