// The dashboard in the browser: signs in, follows the daemon, and shows the screen in the address.

import { render } from 'preact';
import { App } from './app.ts';
import { enter, follow } from './connection.ts';
import { html } from './html.ts';
import { hear, keepHistory } from './state.ts';

// Before the first drawing, so that the answer arrives meanwhile.
const entered = enter();
const place = document.getElementById('app');
if (place !== null) {
  place.textContent = '';
  render(html`<${App} />`, place);
}
addEventListener('pagehide', keepHistory);
if (await entered) await follow(hear);
