// The live picture: clients on the left, the bridge, servers on the right. Lines are as thick as the calls on them are many, and a
// dot goes along for each call that is followed. It is drawn, so that hundreds of servers cost little.

import {
  forceLink,
  forceSimulation,
  forceX,
  forceY,
  type SimulationLinkDatum,
  type SimulationNodeDatum,
} from 'd3-force';
import { useEffect, useRef, useState } from 'preact/hooks';
import { textOf } from '../data.ts';
import { plural, rate } from '../format.ts';
import { html, type Markup } from '../html.ts';
import { Empty, Screen } from '../parts/elements.ts';
import { go } from '../route.ts';
import { servers } from '../servers.ts';
import { clients, onEvent, rates } from '../state.ts';
import { theme } from '../theme.ts';

type Kind = 'client' | 'bridge' | 'server';

interface Place extends SimulationNodeDatum {
  readonly id: string;
  readonly kind: Kind;
  readonly name: string;
  state: string;
  size: number;
  /** Where it is drawn to. */
  homeY: number;
}

interface Line extends SimulationLinkDatum<Place> {
  readonly from: Place;
  readonly to: Place;
  perSecond: number;
}

/** A call on its way: to its server, or back. */
interface Dot {
  readonly places: readonly [Place, Place, Place];
  readonly isBack: boolean;
  readonly isBad: boolean;
  readonly startMs: number;
}

const TRIP_MS = 700;
const MOST_DOTS = 400;
/** More of one kind are drawn as one. */
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
  const about = `${plural(clients.value.length, 'client')}, ${plural(used, 'server')} in use, ${rate(total)} calls a second`;
  const isEmpty = clients.value.length + used === 0;
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
  readonly #colours: Readonly<Record<string, string>>;
  readonly #places = new Map<string, Place>();
  #lines: Line[] = [];
  #dots: Dot[] = [];
  readonly #simulation = forceSimulation<Place>().stop();
  readonly #ends: (() => void)[] = [];
  readonly #isStill = matchMedia('(prefers-reduced-motion: reduce)').matches;
  #frame = 0;
  #width = 0;
  #height = 0;
  #ticks = 0;
  #hovered: Place | undefined;

  constructor(canvas: HTMLCanvasElement, told: (name: string) => void) {
    this.#canvas = canvas;
    this.#context = canvas.getContext('2d') as CanvasRenderingContext2D;
    this.#told = told;
    const styles = getComputedStyle(document.documentElement);
    const names = [
      'accent',
      'accent-soft',
      'ok',
      'bad',
      'warn',
      'wait',
      'line',
      'line-strong',
      'text',
      'muted',
      'faint',
      'panel',
      'sans',
    ];
    this.#colours = Object.fromEntries(names.map((name) => [name, styles.getPropertyValue(`--${name}`).trim()]));
    const observer = new ResizeObserver(() => this.#measure());
    observer.observe(canvas);
    const moved = (event: MouseEvent): void => this.#hover(this.#at(event));
    const pressed = (event: MouseEvent): void => this.#open(this.#at(event));
    canvas.addEventListener('mousemove', moved);
    canvas.addEventListener('click', pressed);
    const unheard = onEvent((event) => this.#heard(event));
    const unfollowed = [clients.subscribe(() => this.#gather()), servers.subscribe(() => this.#gather())];
    this.#ends.push(
      () => observer.disconnect(),
      unheard,
      ...unfollowed,
      () => {
        canvas.removeEventListener('mousemove', moved);
        canvas.removeEventListener('click', pressed);
      },
    );
    this.#measure();
    this.#draw();
  }

  end(): void {
    cancelAnimationFrame(this.#frame);
    for (const end of this.#ends) end();
  }

  #measure(): void {
    const { clientWidth, clientHeight } = this.#canvas;
    this.#width = clientWidth;
    this.#height = clientHeight;
    this.#canvas.width = clientWidth * devicePixelRatio;
    this.#canvas.height = clientHeight * devicePixelRatio;
    this.#gather();
  }

  /** Takes clients and servers as they are now; those that stay keep their places. */
  #gather(): void {
    if (this.#width === 0) return;
    const used = servers.peek().filter(({ sessions, running, tone }) => sessions > 0 || running > 0 || tone === 'bad');
    const shownClients = clients.peek().slice(0, MOST_PLACES);
    const shownServers = used.slice(0, MOST_PLACES);
    const kept = new Set(['bridge']);
    const put = (kind: Kind, name: string, state: string, size: number): Place => {
      const id = kind === 'bridge' ? kind : `${kind}:${name}`;
      kept.add(id);
      const known = this.#places.get(id) ?? {
        id,
        kind,
        name,
        state,
        size,
        homeY: 0,
        x: this.#columnOf(kind),
        y: this.#height / 2 + (Math.random() - 0.5) * 40,
      };
      known.state = state;
      known.size = size;
      this.#places.set(id, known);
      return known;
    };
    const bridge = put('bridge', 'mcp-bridge', 'ready', 17);
    const left = shownClients.map(({ clientId, state }) => put('client', clientId, state, 6));
    const right = shownServers.map(({ name, state, residentBytes }) =>
      put('server', name, state, 6 + Math.min(5, residentBytes / 60e6)),
    );
    for (const id of this.#places.keys()) if (!kept.has(id)) this.#places.delete(id);
    const spread = (column: readonly Place[]): void => {
      const gap = Math.min(46, (this.#height - 60) / Math.max(1, column.length));
      for (const [i, place] of column.entries()) place.homeY = this.#height / 2 + (i - (column.length - 1) / 2) * gap;
    };
    spread(left);
    spread(right);
    spread([bridge]);
    const perSecond = rates.peek();
    this.#lines = [
      ...left.map((from) => ({ source: from, target: bridge, from, to: bridge, perSecond: 0 })),
      ...right.map((to) => ({ source: bridge, target: to, from: bridge, to, perSecond: perSecond.get(to.name) ?? 0 })),
    ];
    const places = [...this.#places.values()];
    this.#simulation
      .nodes(places)
      .force('x', forceX<Place>(({ kind }) => this.#columnOf(kind)).strength(0.3))
      .force('y', forceY<Place>(({ homeY }) => homeY).strength(0.25))
      .force('lines', forceLink<Place, Line>(this.#lines).strength(0.002))
      .alpha(0.5);
    this.#ticks = this.#isStill ? 0 : 90;
    if (this.#isStill) this.#simulation.tick(120);
  }

  #columnOf(kind: Kind): number {
    if (kind === 'bridge') return this.#width / 2;
    const edge = Math.min(230, Math.max(118, this.#width * 0.26));
    return kind === 'client' ? edge : this.#width - edge;
  }

  #heard(event: Readonly<Record<string, unknown>>): void {
    const kind = textOf(event.kind);
    if (this.#isStill || this.#dots.length >= MOST_DOTS || (kind !== 'call.sent' && kind !== 'call.ended')) return;
    const [client, bridge, server] = [`client:${textOf(event.client)}`, 'bridge', `server:${textOf(event.server)}`].map(
      (id) => this.#places.get(id),
    );
    if (client === undefined || bridge === undefined || server === undefined) return;
    const isBad = kind === 'call.ended' && textOf(event.outcome) !== 'ok';
    // Those of one message are spread over the time until the next one.
    this.#dots.push({
      places: [client, bridge, server],
      isBack: kind === 'call.ended',
      isBad,
      startMs: performance.now() + Math.random() * 220,
    });
  }

  #at(event: MouseEvent): Place | undefined {
    const { left, top } = this.#canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - left, event.clientY - top];
    const isNear = ({ x: px = 0, y: py = 0, kind }: Place): boolean => {
      const reach = kind === 'client' ? x > px - 190 && x < px + 14 : x > px - 14 && x < px + 190;
      return Math.abs(py - y) < 12 && reach && kind !== 'bridge';
    };
    return [...this.#places.values()].find(isNear);
  }

  #hover(place: Place | undefined): void {
    if (place === this.#hovered) return;
    this.#hovered = place;
    this.#canvas.classList.toggle('pointing', place !== undefined);
    this.#told(place === undefined ? '' : `${place.name.slice(0, 80)} · ${place.state}`);
  }

  #open(place: Place | undefined): void {
    if (place !== undefined) go(place.kind === 'client' ? 'clients' : 'servers', place.name);
  }

  #draw(): void {
    if (this.#ticks > 0) {
      this.#simulation.tick();
      this.#ticks -= 1;
    }
    const paint = this.#context;
    paint.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    paint.clearRect(0, 0, this.#width, this.#height);
    for (const line of this.#lines) this.#drawLine(line);
    const nowMs = performance.now();
    this.#dots = this.#dots.filter(({ startMs }) => nowMs - startMs < TRIP_MS * 2);
    for (const dot of this.#dots) this.#drawDot(dot, nowMs);
    for (const place of this.#places.values()) this.#drawPlace(place);
    this.#frame = requestAnimationFrame(() => this.#draw());
  }

  #drawLine({ from, to, perSecond }: Line): void {
    const paint = this.#context;
    const isLit = this.#hovered === from || this.#hovered === to;
    paint.strokeStyle = this.#colours[isLit ? 'accent' : 'line-strong'] ?? '';
    paint.globalAlpha = isLit ? 0.9 : 0.75;
    paint.lineWidth = 1 + Math.min(5, Math.sqrt(perSecond) * 0.9);
    paint.beginPath();
    curve(paint, from, to);
    paint.stroke();
    paint.globalAlpha = 1;
  }

  #drawDot({ places: [client, bridge, server], isBack, isBad, startMs }: Dot, nowMs: number): void {
    const gone = (nowMs - startMs) / TRIP_MS;
    if (gone < 0) return;
    const [first, second] = isBack
      ? [
          [server, bridge],
          [bridge, client],
        ]
      : [
          [client, bridge],
          [bridge, server],
        ];
    const [from, to] = gone < 1 ? first : second;
    if (from === undefined || to === undefined) return;
    const { x, y } = along(from, to, gone % 1);
    const paint = this.#context;
    paint.fillStyle = this.#colours[isBad ? 'bad' : isBack ? 'ok' : 'accent'] ?? '';
    paint.beginPath();
    paint.arc(x, y, 2.6, 0, Math.PI * 2);
    paint.fill();
  }

  #drawPlace(place: Place): void {
    const { x = 0, y = 0, kind, name, size, state } = place;
    const paint = this.#context;
    const isBridge = kind === 'bridge';
    const tone =
      state === 'ready'
        ? 'ok'
        : state === 'failed' || state === 'broken'
          ? 'bad'
          : state === 'starting'
            ? 'warn'
            : 'wait';
    paint.fillStyle = this.#colours[isBridge ? 'accent' : 'panel'] ?? '';
    paint.strokeStyle = this.#colours[isBridge ? 'accent' : tone] ?? '';
    paint.lineWidth = 2;
    paint.beginPath();
    if (isBridge) paint.roundRect(x - size, y - size, size * 2, size * 2, 9);
    else paint.arc(x, y, size, 0, Math.PI * 2);
    paint.fill();
    paint.stroke();
    paint.fillStyle = this.#colours[place === this.#hovered ? 'text' : isBridge ? 'text' : 'muted'] ?? '';
    paint.font = `${isBridge ? '600 ' : ''}12px ${this.#colours.sans}`;
    paint.textBaseline = 'middle';
    paint.textAlign = isBridge ? 'center' : kind === 'client' ? 'right' : 'left';
    const text = shortName(name);
    if (isBridge) paint.fillText(text, x, y + size + 15);
    else paint.fillText(text, x + (kind === 'client' ? -size - 9 : size + 9), y + 0.5);
  }
}

type Point = Pick<Place, 'x' | 'y'>;

/** A line that leaves and arrives level. */
function curve(
  paint: CanvasRenderingContext2D,
  { x: ax = 0, y: ay = 0 }: Point,
  { x: bx = 0, y: by = 0 }: Point,
): void {
  const middle = (ax + bx) / 2;
  paint.moveTo(ax, ay);
  paint.bezierCurveTo(middle, ay, middle, by, bx, by);
}

function along({ x: ax = 0, y: ay = 0 }: Point, { x: bx = 0, y: by = 0 }: Point, t: number): { x: number; y: number } {
  const middle = (ax + bx) / 2;
  const u = 1 - t;
  const mix = (a: number, b: number, c: number, d: number): number =>
    u ** 3 * a + 3 * u * u * t * b + 3 * u * t * t * c + t ** 3 * d;
  return { x: mix(ax, middle, middle, bx), y: mix(ay, ay, by, by) };
}

function shortName(name: string): string {
  return name.length > 26 ? `${name.slice(0, 25)}…` : name;
}
