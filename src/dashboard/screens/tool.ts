// The tools of one server: their definitions, and a form to try each.

import { useSignal } from '@preact/signals';
import { useMemo, useRef, useState } from 'preact/hooks';
import { ask } from '../connection.ts';
import { type JsonFields, membersOf, recordsOf, textOf, textsOf } from '../data.ts';
import { bytes, count, duration, plural } from '../format.ts';
import { html, type Markup } from '../html.ts';
import { useAsked } from '../parts/asked.ts';
import { Action, Badge, Command, Empty, Failure, Filter, Panel, ReadOnlyNote } from '../parts/elements.ts';
import { useInSight } from '../parts/in-sight.ts';
import { address, route } from '../route.ts';
import { argumentsFrom, type FormField, fieldsOf } from '../schema-form.ts';
import { Block, Json, text } from '../untrusted.ts';

interface Tool {
  readonly name: string;
  readonly definition: JsonFields;
  readonly refusal: string;
  readonly changed: boolean;
  readonly tags: readonly string[];
}

function toolsIn(answer: unknown, server: string): { known: boolean; tools: readonly Tool[] } {
  const found = recordsOf(membersOf(answer).servers).find((one) => one.server === server);
  const tools = recordsOf(found?.tools).map((tool) => ({
    name: textOf(tool.name),
    definition: membersOf(tool.definition),
    refusal: textOf(membersOf(tool.refusal).message),
    changed: tool.isChanged === true,
    tags: textsOf(tool.tags),
  }));
  return { known: found?.isKnown !== false, tools };
}

export function ToolList({ server }: { server: string }): Markup {
  const { answer, error, isAsking, again } = useAsked<unknown>('bridge/tools', { server });
  const { known, tools } = useMemo(() => toolsIn(answer, server), [answer, server]);
  const [, , wanted = ''] = route.value.rest;
  const chosen = tools.find(({ name }) => name === wanted) ?? tools[0];
  if (answer === undefined)
    return html`<${Panel}>${error ? html`<${Failure} error=${error} />` : html`<p class="panel-text muted">${isAsking ? 'Asking for its tools' : ''}</p>`}</>`;
  if (!known || tools.length === 0)
    return html`<${Panel}><${Empty} title=${known ? 'It has no tools' : 'Its tools are not known yet'} text=${known ? 'It may have prompts or resources.' : 'Nobody has used it so far. The bridge can ask it now.'} />
      ${
        known
          ? null
          : html`<p class="empty-action"><${Action} act=${async () => {
              await ask('bridge/refresh', { servers: [server] });
              again();
            }} kind="main">Ask it now</><${Command} text="mcp-bridge refresh" words=${[server]} /></p>`
      }</>`;
  return html`<div class="pair">
    <${ToolNames} server=${server} tools=${tools} chosen=${chosen} />
    ${chosen === undefined ? null : html`<${ToolView} key=${chosen.name} server=${server} tool=${chosen} />`}
  </div>`;
}

const NAME_HEIGHT = 29;
/** A shorter list needs no filter. */
const MANY_TOOLS = 20;

function ToolNames(props: { server: string; tools: readonly Tool[]; chosen: Tool | undefined }): Markup {
  const { server, tools, chosen } = props;
  const filter = useSignal('');
  const wanted = filter.value.toLowerCase();
  const shown = useMemo(() => tools.filter(({ name }) => name.toLowerCase().includes(wanted)), [tools, wanted]);
  const at = chosen === undefined ? -1 : shown.indexOf(chosen);
  const { ref, from, to } = useInSight(shown.length, NAME_HEIGHT, at);
  return html`<nav class="pair-list" aria-label="Tools">
    ${tools.length < MANY_TOOLS ? null : html`<${Filter} filter=${filter} hint=${`Filter ${count(tools.length)} tools`} label="Filter the tools of this server" />`}
    <div class="pair-names" ref=${ref} tabindex="-1"><div class="table-length" style=${{ height: `${shown.length * NAME_HEIGHT}px` }}>${shown
      .slice(from, to)
      .map(
        (
          tool,
          i,
        ) => html`<a key=${tool.name} class=${tool === chosen ? 'pair-item chosen' : 'pair-item'} aria-current=${tool === chosen ? 'true' : undefined}
        style=${{ top: `${(from + i) * NAME_HEIGHT}px` }} href=${address('servers', server, 'tools', tool.name)}><span class="clip tool">${text(tool.name)}</span>${tool.refusal === '' ? null : html`<${Badge}>off</>`}${tool.changed ? html`<${Badge} tone="warn">changed</>` : null}</a>`,
      )}</div></div>
    ${shown.length === 0 ? html`<p class="pair-none muted">No tool fits</p>` : null}
  </nav>`;
}

function ToolView({ server, tool }: { server: string; tool: Tool }): Markup {
  const { definition } = tool;
  const annotations = Object.entries(membersOf(definition.annotations)).filter(([, value]) => value === true);
  const size = JSON.stringify(definition).length;
  return html`<div class="pair-main">
    <${Panel} title=${text(tool.name)} aside=${`${bytes(size)}, about ${count(Math.ceil(size / 4))} tokens`}>
      <p class="panel-text description">${text(definition.description ?? 'It says nothing of itself.', 4000)}</p>
      <p class="chips panel-text">${annotations.map(([name]) => html`<${Badge} key=${name}>${text(name)}</>`)}${tool.tags.map((tag) => html`<${Badge} key=${tag} tone="accent">${text(tag)}</>`)}${tool.refusal === '' ? null : html`<${Badge} tone="warn">${text(tool.refusal)}</>`}</p>
    </>
    <${TryTool} server=${server} tool=${tool} />
    <details class="panel fold"><summary>Schema</summary><${Json} value=${definition.inputSchema ?? {}} label=${`Schema of ${tool.name}`} />
      ${definition.outputSchema === undefined ? null : html`<h3>Of the answer</h3><${Json} value=${definition.outputSchema} label=${`Output schema of ${tool.name}`} />`}</details>
  </div>`;
}

interface Tried {
  readonly request: unknown;
  readonly answer: unknown;
  readonly ms: number;
}

function TryTool({ server, tool }: { server: string; tool: Tool }): Markup {
  const fields = useMemo(() => fieldsOf(tool.definition.inputSchema), [tool]);
  /** Keys are field names; a form's own list would mix them up with its members. */
  const controls = useRef(new Map<string, unknown>());
  const [tried, setTried] = useState<Tried | undefined>(undefined);
  const run = async (): Promise<void> => {
    const given = argumentsFrom(fields, (name) => typed(controls.current.get(name)));
    setTried(await ask<Tried>('ui/try', { server, tool: tool.name, arguments: given }));
  };
  const failed = tried !== undefined && isFailed(tried.answer);
  return html`<${Panel} title="Try it">
    <${ReadOnlyNote} />
    <form class="form" onSubmit=${(event: Event) => event.preventDefault()}>
      ${fields.length === 0 ? html`<p class="muted">It takes no arguments.</p>` : fields.map((field, i) => html`<${FieldView} key=${field.name} field=${field} id=${`field-${i}`} control=${(element: unknown) => controls.current.set(field.name, element)} />`)}
      <p class="form-end"><${Action} act=${run} kind="main">Call it</>
        ${tried === undefined ? null : html`<span class=${failed ? 'bad' : 'ok'}>${failed ? 'It answered with an error' : 'It answered'}</span> <span class="muted">after ${duration(tried.ms)}</span>`}</p>
    </form>
    ${tried === undefined ? null : html`<div class="columns raw"><div><h3>Request</h3><${Raw} value=${tried.request} label="Request" /></div><div><h3>Answer <span class="muted">${plural(rawText(tried.answer).length, 'character')}</span></h3><${Raw} value=${tried.answer} label="Answer" /></div></div>`}
  </>`;
}

function isFailed(answer: unknown): boolean {
  const value = typeof answer === 'string' ? parsed(answer) : answer;
  const { error, isError, result } = membersOf(value);
  return error !== undefined || isError === true || membersOf(result).isError === true;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text; // a server may answer anything
  }
}

function rawText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function Raw({ value, label }: { value: unknown; label: string }): Markup {
  const shown = typeof value === 'string' ? parsed(value) : value;
  return typeof shown === 'string'
    ? html`<${Block} text=${shown} label=${label} />`
    : html`<${Json} value=${shown} label=${label} />`;
}

function typed(element: unknown): string | boolean {
  if (element instanceof HTMLInputElement) return element.type === 'checkbox' ? element.checked : element.value;
  return element instanceof HTMLTextAreaElement || element instanceof HTMLSelectElement ? element.value : '';
}

interface FieldProps {
  readonly field: FormField;
  readonly id: string;
  /** Takes the input element. */
  readonly control: (element: unknown) => void;
}

function FieldView({ field, id, control: ref }: FieldProps): Markup {
  const { name, kind, isNeeded, description, choices, example } = field;
  const about = description === '' ? undefined : `${id}-about`;
  const hint = isNeeded ? 'needed' : kind === 'json' ? 'JSON' : '';
  const common = { id, ref, 'aria-describedby': about, required: isNeeded };
  const control =
    kind === 'choice'
      ? html`<select ...${common}>${isNeeded ? null : html`<option value=""></option>`}${choices.map((choice) => html`<option key=${choice} value=${choice}>${choice}</option>`)}</select>`
      : kind === 'flag'
        ? html`<select ...${common}><option value=""></option><option value="true">true</option><option value="false">false</option></select>`
        : kind === 'json' || kind === 'long'
          ? html`<textarea ...${common} rows="3" placeholder=${example}></textarea>`
          : html`<input ...${common} type="text" inputmode=${kind === 'number' || kind === 'integer' ? 'decimal' : undefined} placeholder=${example} autocomplete="off" spellcheck=${false} />`;
  return html`<div class="field"><label for=${id}><span class="tool">${text(name)}</span> <span class="field-kind">${field.type}${hint === '' ? '' : ` · ${hint}`}</span></label>
    ${control}${about === undefined ? null : html`<p class="field-about" id=${about}>${text(description, 400)}</p>`}</div>`;
}
