// The live picture: clients on the left, the bridge, servers on the right, other hosts in between. Busy lines are
// thicker, and a dot moves for each followed call. It is drawn on a canvas, so that hundreds of servers cost little.

import { useEffect, useRef, useState } from 'preact/hooks';
import { textOf } from '../data.ts';
import { duration, plural, rate } from '../format.ts';
import { hostName, hostOf, hosts } from '../hosts.ts';
import { html, type Markup } from '../html.ts';
import { Empty, Screen } from '../parts/elements.ts';
import { go } from '../route.ts';
import { servers } from '../servers.ts';
import { clients, onEvent, rates } from '../state.ts';
import { theme } from '../theme.ts';

type Kind = 'client' | 'bridge' | 'host' | 'server';

interface Place {
  readonly id: string;
  readonly kind: Kind;
  readonly name: string;
  /** Shown after its name, under the pointer. */
  about: string;
  tone: string;
  size: number;
  x: number;
  y: number;
  /** The position that it moves to. */
  homeX: number;
  homeY: number;
  /** The other host that it runs on, if any. */
  host: Place | undefined;
}

interface Line {
  readonly from: Place;
  readonly to: Place;
  perSecond: number;
}

/** A call moving along these places. */
interface Dot {
  readonly places: readonly Place[];
  readonly tone: string;
  readonly startMs: number;
}

/** The time from one place to the next. */
const TRIP_MS = 700;
/** The fraction of its remaining way that a place moves per picture. */
const EASE = 0.18;
const MOST_DOTS = 400;
/** More places of one kind are drawn as one. */
const MOST_PLACES = 60;

export function Topology(): Markup {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [name, setName] = useState('');
  const chosen = theme.value;
  useEffect(() => {
    const element = canvas.current;
    if (element === null) return undefined;
    const picture = new Picture(element, setName);
    return () => picture.end();
  }, [chosen]);
  const used = servers.value.filter(({ sessions, running }) => sessions > 0 || running > 0).length;
  const total = [...rates.value.values()].reduce((sum, one) => sum + one, 0);
  const away = hosts.value === undefined ? '' : `, ${plural(hosts.value.hosts.length, 'other host')}`;
  const about = `${plural(clients.value.length, 'client')}, ${plural(used, 'server')} in use${away}, ${rate(total)} calls a second`;
  const isEmpty = clients.value.length + used + (hosts.value?.hosts.length ?? 0) === 0;
  return html`<${Screen} title="Topology" note=${about} fills>
    <div class="panel picture">
      ${isEmpty ? html`<${Empty} title="Nothing is connected" text="Clients and the servers that they use appear here." command="mcp-bridge install" />` : null}
      <canvas ref=${canvas} role="img" aria-label=${`${about}. The same as a list is under Clients and Servers.`} class=${isEmpty ? 'gone' : ''}></canvas>
      <p class="picture-key"><span class="key-dot key-ask">call</span><span class="key-dot key-answer">answer</span><span class="key-dot key-fault">error</span><span class="picture-name">${name}</span></p>
    </div>
  </>`;
}

class Picture {
  readonly #canvas: HTMLCanvasElement;
  readonly #context: CanvasRenderingContext2D;
  readonly #told: (name: string) => void;
  readonly #styles = getComputedStyle(document.documentElement);
  readonly #colours = new Map<string, string>();
  readonly #places = new Map<string, Place>();
  #lines: Line[] = [];
  #dots: Dot[] = [];
  readonly #ends: (() => void)[] = [];
  readonly #isStill = matchMedia('(prefers-reduced-motion: reduce)').matches;
  /** The id of the next animation frame; 0 while nothing moves. */
  #frame = 0;
  #width = 0;
  #height = 0;
  #hovered: Place | undefined;

  constructor(canvas: HTMLCanvasElement, told: (name: string) => void) {
    this.#canvas = canvas;
    this.#context = canvas.getContext('2d') as CanvasRenderingContext2D;
    this.#told = told;
    const observer = new ResizeObserver(() => this.#measure());
    observer.observe(canvas);
    const moved = (event: MouseEvent): void => this.#hover(this.#at(event));
    const pressed = (event: MouseEvent): void => this.#open(this.#at(event));
    canvas.addEventListener('mousemove', moved);
    canvas.addEventListener('click', pressed);
    this.#ends.push(
      () => observer.disconnect(),
      onEvent((event) => this.#heard(event)),
      ...[clients, servers, hosts].map((one) => one.subscribe(() => this.#gather())),
      () => {
        canvas.removeEventListener('mousemove', moved);
        canvas.removeEventListener('click', pressed);
      },
    );
    this.#measure();
  }

  end(): void {
    cancelAnimationFrame(this.#frame);
    for (const end of this.#ends) end();
  }

  #colour(name: string): string {
    const known = this.#colours.get(name) ?? this.#styles.getPropertyValue(`--${name}`).trim();
    this.#colours.set(name, known);
    return known;
  }

  #measure(): void {
    const { clientWidth, clientHeight } = this.#canvas;
    this.#width = clientWidth;
    this.#height = clientHeight;
    this.#canvas.width = clientWidth * devicePixelRatio;
    this.#canvas.height = clientHeight * devicePixelRatio;
    this.#gather();
  }

  /** Takes the present clients, hosts and servers; existing ones keep their positions. */
  #gather(): void {
    if (this.#width === 0) return;
    const kept = new Set<string>();
    const put = (kind: Kind, name: string, now: Partial<Place>): Place => {
      const id = `${kind}:${name}`;
      kept.add(id);
      const homeX = this.#columnOf(kind);
      const start = { x: this.#isStill ? homeX : this.#width / 2, y: this.#height / 2, homeY: 0 };
      const known = this.#places.get(id) ?? {
        id,
        kind,
        name,
        about: '',
        tone: '',
        size: 6,
        host: undefined,
        homeX,
        ...start,
      };
      this.#places.set(id, Object.assign(known, now, { homeX }));
      return known;
    };
    const bridge = put('bridge', 'mcp-bridge', { size: 17 });
    const left = clients
      .peek()
      .slice(0, MOST_PLACES)
      .map(({ clientId, state }) => put('client', clientId, { tone: state === 'ready' ? 'ok' : 'wait', about: state }));
    const others = (hosts.peek()?.hosts ?? []).slice(0, MOST_PLACES).map((one) => {
      const isHere = one.latencyMs !== null;
      const about = isHere ? `host, ${duration(one.latencyMs)} away` : `host: ${one.unreachable ?? 'does not answer'}`;
      return put('host', one.host, { tone: isHere ? 'ok' : 'bad', about, size: 8 });
    });
    const hostNamed = new Map(others.map((one) => [one.name, one]));
    const right = servers
      .peek()
      .filter(({ sessions, running, tone }) => sessions > 0 || running > 0 || tone === 'bad')
      .slice(0, MOST_PLACES)
      .map(({ name, state, tone, residentBytes }) =>
        put('server', name, {
          tone: tone === 'quiet' ? 'wait' : tone,
          about: state,
          size: 6 + Math.min(5, residentBytes / 60e6),
          host: hostNamed.get(hostName(hostOf(name))),
        }),
      )
      .toSorted((a, b) => others.indexOf(a.host as Place) - others.indexOf(b.host as Place));
    for (const id of this.#places.keys()) if (!kept.has(id)) this.#places.delete(id);
    for (const column of [left, right, [bridge]]) this.#spread(column);
    this.#spread(others);
    for (const host of others) {
      const own = right.filter((one) => one.host === host);
      if (own.length > 0) host.homeY = own.reduce((sum, { homeY }) => sum + homeY, 0) / own.length;
    }
    const perSecond = rates.peek();
    this.#lines = [
      ...left.map((from) => ({ from, to: bridge, perSecond: 0 })),
      ...others.map((to) => ({ from: bridge, to, perSecond: 0 })),
      ...right.map((to) => ({ from: to.host ?? bridge, to, perSecond: perSecond.get(to.name) ?? 0 })),
    ];
    this.#wake();
  }

  #spread(column: readonly Place[]): void {
    const gap = Math.min(46, (this.#height - 60) / Math.max(1, column.length));
    for (const [i, place] of column.entries()) {
      place.homeY = this.#height / 2 + (i - (column.length - 1) / 2) * gap;
      if (this.#isStill) place.y = place.homeY;
    }
  }

  #columnOf(kind: Kind): number {
    const middle = this.#width / 2;
    if (kind === 'bridge') return middle;
    const edge = Math.min(230, Math.max(118, this.#width * 0.26));
    if (kind === 'host') return middle + (middle - edge) / 2;
    return kind === 'client' ? edge : this.#width - edge;
  }

  #heard(event: Readonly<Record<string, unknown>>): void {
    const kind = textOf(event.kind);
    if (this.#isStill || this.#dots.length >= MOST_DOTS || (kind !== 'call.sent' && kind !== 'call.ended')) return;
    const server = this.#places.get(`server:${textOf(event.server)}`);
    const ends = [this.#places.get(`client:${textOf(event.client)}`), this.#places.get('bridge:mcp-bridge'), server];
    if (ends.includes(undefined)) return;
    const places = [...ends.slice(0, 2), server?.host, server].filter((place) => place !== undefined);
    const isBack = kind === 'call.ended';
    const tone = isBack ? (textOf(event.outcome) === 'ok' ? 'ok' : 'bad') : 'accent';
    // Events of one message are spread over the time until the next one.
    const startMs = performance.now() + Math.random() * 220;
    this.#dots.push({ places: isBack ? places.reverse() : places, tone, startMs });
    this.#wake();
  }

  #at(event: MouseEvent): Place | undefined {
    const { left, top } = this.#canvas.getBoundingClientRect();
    const [px, py] = [event.clientX - left, event.clientY - top];
    const isNear = ({ x, y, kind }: Place): boolean => {
      const [before, after] = kind === 'client' ? [190, 14] : kind === 'host' ? [60, 60] : [14, 190];
      return kind !== 'bridge' && Math.abs(py - y) < 12 && px > x - before && px < x + after;
    };
    return [...this.#places.values()].find(isNear);
  }

  #hover(place: Place | undefined): void {
    if (place === this.#hovered) return;
    this.#hovered = place;
    this.#canvas.classList.toggle('pointing', place !== undefined);
    this.#told(place === undefined ? '' : `${place.name.slice(0, 80)} · ${place.about}`);
    this.#wake();
  }

  #open(place: Place | undefined): void {
    if (place === undefined) return;
    if (place.kind === 'client') go('clients', place.name);
    else if (place.kind === 'host') go('servers');
    else go('servers', place.name);
  }

  #wake(): void {
    if (this.#frame === 0) this.#frame = requestAnimationFrame(() => this.#draw());
  }

  /** Draws, repeatedly while something moves. */
  #draw(): void {
    this.#frame = 0;
    const places = [...this.#places.values()];
    const moved = places.filter(({ x, y, homeX, homeY }) => Math.abs(homeX - x) + Math.abs(homeY - y) > 0.5);
    for (const place of moved) {
      place.x += (place.homeX - place.x) * EASE;
      place.y += (place.homeY - place.y) * EASE;
    }
    const paint = this.#context;
    paint.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    paint.clearRect(0, 0, this.#width, this.#height);
    for (const line of this.#lines) this.#drawLine(line);
    const nowMs = performance.now();
    this.#dots = this.#dots.filter(({ startMs, places: { length } }) => nowMs - startMs < TRIP_MS * (length - 1));
    for (const dot of this.#dots) this.#drawDot(dot, nowMs);
    for (const place of places) this.#drawPlace(place);
    if (moved.length + this.#dots.length > 0) this.#wake();
  }

  #drawLine({ from, to, perSecond }: Line): void {
    const paint = this.#context;
    const isLit = this.#hovered === from || this.#hovered === to;
    paint.strokeStyle = this.#colour(isLit ? 'accent' : 'line-strong');
    paint.globalAlpha = isLit ? 0.9 : 0.75;
    paint.lineWidth = 1 + Math.min(5, Math.sqrt(perSecond) * 0.9);
    paint.beginPath();
    const middle = (from.x + to.x) / 2;
    paint.moveTo(from.x, from.y);
    paint.bezierCurveTo(middle, from.y, middle, to.y, to.x, to.y);
    paint.stroke();
    paint.globalAlpha = 1;
  }

  #drawDot({ places, tone, startMs }: Dot, nowMs: number): void {
    const gone = (nowMs - startMs) / TRIP_MS;
    const [from, to] = [places[Math.floor(gone)], places[Math.floor(gone) + 1]];
    if (from === undefined || to === undefined) return;
    const { x, y } = along(from, to, gone % 1);
    const paint = this.#context;
    paint.fillStyle = this.#colour(tone);
    paint.beginPath();
    paint.arc(x, y, 2.6, 0, Math.PI * 2);
    paint.fill();
  }

  #drawPlace(place: Place): void {
    const { x, y, kind, name, size, tone } = place;
    const paint = this.#context;
    const isBridge = kind === 'bridge';
    paint.fillStyle = this.#colour(isBridge ? 'accent' : 'panel');
    paint.strokeStyle = this.#colour(isBridge ? 'accent' : tone);
    paint.lineWidth = 2;
    paint.beginPath();
    if (kind === 'bridge' || kind === 'host') paint.roundRect(x - size, y - size, size * 2, size * 2, size / 2);
    else paint.arc(x, y, size, 0, Math.PI * 2);
    paint.fill();
    paint.stroke();
    paint.fillStyle = this.#colour(place === this.#hovered || isBridge ? 'text' : 'muted');
    paint.font = `${isBridge ? '600 ' : ''}12px ${this.#colour('sans')}`;
    paint.textBaseline = 'middle';
    paint.textAlign = kind === 'client' ? 'right' : kind === 'server' ? 'left' : 'center';
    const text = shortName(name);
    if (kind === 'client') paint.fillText(text, x - size - 9, y + 0.5);
    else if (kind === 'server') paint.fillText(text, x + size + 9, y + 0.5);
    else paint.fillText(text, x, y + size + (isBridge ? 15 : 13));
  }
}

/** A point on the curve between two places, which is horizontal at both ends. */
function along(from: Place, to: Place, t: number): { x: number; y: number } {
  const middle = (from.x + to.x) / 2;
  const u = 1 - t;
  const mix = (a: number, b: number, c: number, d: number): number =>
    u ** 3 * a + 3 * u * u * t * b + 3 * u * t * t * c + t ** 3 * d;
  return { x: mix(from.x, middle, middle, to.x), y: mix(from.y, from.y, to.y, to.y) };
}

function shortName(name: string): string {
  return name.length > 26 ? `${name.slice(0, 25)}…` : name;
}
