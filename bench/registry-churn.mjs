// Many processes that register, leave and are killed at random, while somebody reads the registry all the time and
// compares it with what must be in it.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { listServers } from '../dist/registry.js';

const WORKER = fileURLToPath(new URL('registry-worker.mjs', import.meta.url));

/** Goes on until `isEnough` of what was counted and the milliseconds that it took; resolves to the counts, and every fault that was seen. */
export async function churn({ processes, isEnough, killPeriodMs, file }) {
  const counts = { readings: 0, registered: 0, killed: 0, most: 0 };
  const faults = [];
  /** What must be listed, by pid, with how often that has changed; and what must not. */
  const present = new Map();
  const dead = new Set();
  const running = new Set();
  let turn = 0;
  let isOver = false;

  const start = () => {
    const child = spawn(process.execPath, [WORKER, file], { stdio: ['ignore', 'pipe', 'inherit'] });
    running.add(child);
    dead.delete(child.pid);
    let rest = '';
    child.stdout.setEncoding('utf8').on('data', (chunk) => {
      const lines = `${rest}${chunk}`.split('\n');
      rest = lines.pop();
      for (const line of lines) hear(child, line);
    });
    child.once('exit', () => {
      running.delete(child);
      dead.add(child.pid);
      if (!isOver) start();
    });
  };
  const hear = (child, line) => {
    const [word] = line.split(' ');
    if (word === 'warn') faults.push(line);
    if (child.isEnding) return;
    if (word === 'in') {
      counts.registered++;
      present.set(child.pid, ++turn);
    } else present.delete(child.pid);
  };
  const kill = (child) => {
    child.isEnding = true;
    present.delete(child.pid);
    counts.killed++;
    child.kill('SIGKILL');
  };

  for (let n = 0; n < processes; n++) start();
  const killer = setInterval(() => {
    if (counts.killed >= counts.registered) return; // on a slow machine none would live long enough to register
    const victims = [...running].filter(({ isEnding }) => !isEnding);
    const victim = victims[Math.floor(Math.random() * victims.length)];
    if (victim !== undefined) kill(victim);
  }, killPeriodMs);
  for (const began = performance.now(); !isEnough(counts, performance.now() - began); await delay(2)) {
    const before = new Map(present);
    const goneBefore = new Set(dead);
    try {
      JSON.parse(readFileSync(file, 'utf8'));
    } catch (error) {
      if (error.code !== 'ENOENT' || counts.registered > 0) faults.push(`the file cannot be parsed: ${error.message}`);
    }
    const { servers, warnings } = await listServers({ files: [file], cwd: '/nowhere' });
    counts.readings++;
    faults.push(...warnings);
    const pids = new Set(servers.filter((server) => server.file === file).map(({ pid }) => pid));
    counts.most = Math.max(counts.most, pids.size);
    await delay(0); // what was said while it was read has been heard
    for (const [pid, since] of before)
      if (present.get(pid) === since && !pids.has(pid)) faults.push(`${pid} lives, and is not listed`);
    for (const pid of pids) if (goneBefore.has(pid)) faults.push(`${pid} is dead, and listed`);
  }
  isOver = true;
  clearInterval(killer);
  const ended = [...running].map((child) => new Promise((resolve) => child.once('exit', resolve)));
  for (const child of running) kill(child);
  await Promise.all(ended);
  return { counts, faults };
}
