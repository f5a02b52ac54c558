// The dashboard in the browser: comes in, follows the daemon, and shows the screen that the address names.

import { render } from 'preact';
import { App } from './app.ts';
import { enter, follow } from './connection.ts';
import { html } from './html.ts';
import { hear, keepHistory } from './state.ts';

// Before the first picture: the answer comes while it is drawn.
const entered = enter();
const place = document.getElementById('app');
if (place !== null) {
  place.textContent = '';
  render(html`<${App} />`, place);
}
addEventListener('pagehide', keepHistory);
if (await entered) await follow(hear);
