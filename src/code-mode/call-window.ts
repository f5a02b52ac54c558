// How many calls of one program are under way. Answers wait in the daemon until the process reads them, so a program gets as many
// calls at once as their answers have room; the others wait. The process is not read while the arguments that are on their way are too
// many bytes. A process that neither reads nor is read would wait for ever, so those two never depend on each other.

export interface CallWindowPorts {
  /** Bytes of answers that the process has not read. */
  readonly waitingBytes: () => number;
  /** Says that the process is not to be read, or is to be read again. */
  readonly paused: (isPaused: boolean) => void;
}

interface HeldCall {
  readonly bytes: number;
  readonly begin: () => void;
}

/** The answers that may be on their way to one process. */
const ROOM_BYTES = 16 * 1024 * 1024;
/** The calls under way before the first answer, whose size nobody knows. */
const FIRST_CALLS = 16;
const LEAST_CALLS = 4;
/** The arguments of the calls that are under way or wait. */
const MOST_ARGUMENT_BYTES = 4 * 1024 * 1024;
/** A call without arguments takes memory, too. */
const EACH_BYTES = 1024;

export class CallWindow {
  readonly #ports: CallWindowPorts;
  /** The calls that were asked for; the ones before the head have begun. */
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

  /** Begins a call with arguments of so many bytes as soon as it has room. */
  add(argumentBytes: number, begin: () => void): void {
    this.#held.push({ bytes: argumentBytes + EACH_BYTES, begin });
    this.#heldBytes += argumentBytes + EACH_BYTES;
    this.goOn();
  }

  /** A call of so many bytes has an answer, which was sent to the process. */
  ended(argumentBytes: number, answerBytes: number): void {
    this.#open--;
    this.#openBytes -= argumentBytes + EACH_BYTES;
    this.#largestAnswer = Math.max(this.#largestAnswer, answerBytes, 1);
    this.goOn();
  }

  /** Begins what has room by now. */
  goOn(): void {
    if (this.#isGoingOn) return; // a call has ended while it began
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
    // A process that cannot say what it has to say reads nothing either, so what it has said must go on.
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

  /** Begins nothing more. */
  close(): void {
    this.#held = [];
    this.#head = 0;
    this.#heldBytes = 0;
  }
}
