// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The page: what is chosen, where that stands in the address, and the keys.
//
// The hash of the address says all that one sees, so that a link can be sent: #process=4711&finding=9f2c...&op=18&view=10-60&axis=time
// A finding is named by its fingerprint, which is the same in the next run.
import {Data, counted, milliseconds, sentence} from './data.js';
import {button, h, replace} from './dom.js';
import {FindingList} from './list.js';
import {marksOf} from './marks.js';
import {chip, findingPanel, operationPanel} from './panel.js';
import {preparePrint} from './print.js';
import {Timeline} from './timeline.js';

const $ = (id) => document.getElementById(id);
const data = new Data(JSON.parse($('data').textContent));
const state = {run: null, finding: null, op: -1};
const themes = ['auto', 'light', 'dark'];
const keys = [['n / p', 'next, previous finding'], ['/', 'search'], ['+ / −', 'zoom in, out'], ['0', 'show the whole run'], ['f', 'show what is selected'],
              ['← → ↑ ↓', 'in the timeline: to the next operation, to another lane'], ['Shift + ← →', 'in the timeline: move along'], ['Esc', 'give up the selection'], ['t', 'light, dark'], ['?', 'this help']];

const timeline = new Timeline($('timeline'), {
  select: (index) => chooseOp(index),
  view: () => rememberSoon(),
  describe: (index) => describeOp(index),
});
const list = new FindingList($('sidebar'), data, {choose: (finding) => chooseFinding(finding)});

function describeOp(index) {
  const run = state.run, number = run.number[index];
  return [number ? `#${number}` : '', run.lanes[run.lane[index]].name, run.className(index), run.event[index] ? `event ${run.event[index]}` : ''].filter(Boolean).join(', ');
}

function showRun(run) {
  if (!run || state.run === run) return;
  state.run = run;
  state.finding = null;
  state.op = -1;
  $('timeline').hidden = run.count === 0;
  timeline.show(run);
  list.show(run);
  drawTop();
}

function chooseFinding(finding, {move = true} = {}) {
  state.finding = finding;
  state.op = -1;
  list.choose(finding);
  const marks = marksOf(state.run, finding);
  timeline.select(-1);
  timeline.mark(marks);
  if (finding && move) timeline.revealMarks();
  drawPanel();
  announce(finding ? `${finding.severity}: ${finding.message || finding.title}` : '');
  remember();
}

function chooseOp(index, {reveal = true} = {}) {
  state.op = index;
  timeline.select(index, reveal);
  drawPanel();
  if (index >= 0) announce(`${state.run.what(index)}, ${describeOp(index)}`);
  remember();
}

const go = {op: (index) => { chooseOp(index); timeline.canvas.focus({preventScroll: true}); }, finding: (finding) => chooseFinding(finding)};

function drawPanel() {
  const panel = $('panel');
  panel.scrollTop = 0;
  if (state.op >= 0) {
    replace(panel, state.finding && button('← back to the finding', {class: 'back'}, () => chooseFinding(state.finding, {move: false})), operationPanel(data, state.run, state.op, go));
  } else if (state.finding) {
    replace(panel, findingPanel(data, state.finding, go));
  } else {
    const choices = [data.findings.length > 0 && 'a finding on the left (keys n and p)', state.run.count > 0 && 'an operation in the timeline'].filter(Boolean);
    replace(panel, summary(true), choices.length > 0 && h('p', {class: 'where'}, `Choose ${choices.join(', or ')}.`));
  }
}

/** `links`: with the first findings to choose from. */
function summary(links = false) {
  const s = data.summary, clean = s.errors + s.latent + s.possible === 0;
  const verdicts = {};
  for (const finding of data.findings) if (finding.sync) verdicts[finding.sync.verdict] = (verdicts[finding.sync.verdict] || 0) + 1;
  // One of each missing edge: the others have the same fix.
  const worst = data.findings.filter((finding) => !finding.suppressed && (!finding.group || data.groupOf(finding).find((each) => !each.suppressed) === finding)).slice(0, 5);
  const more = (finding) => data.groupOf(finding).filter((each) => !each.suppressed && each !== finding).length;
  const parts = [s.errors && counted(s.errors, 'error'), s.latent && `${s.latent} latent`, s.possible && `${s.possible} possible`, s.notes && counted(s.notes, 'note'), s.suppressed && `${s.suppressed} suppressed`].filter(Boolean);
  return h('div', {class: 'summary'},
      h('h2', {}, clean ? cleanWords() : parts.slice(0, 3).join(', ')),
      h('p', {}, `${counted(s.operations, 'operation')} of ${s.processes === 1 ? 'one process' : `${s.processes} processes`} were judged.`, clean && s.notes ? ` ${counted(s.notes, 'note')}.` : '', s.suppressed ? ` ${s.suppressed} findings are suppressed.` : ''),
      Object.keys(verdicts).length > 0 && h('p', {}, 'Places that synchronise: ', Object.entries(verdicts).map(([verdict, count]) => `${count} ${verdict}`).join(', '), '.', timeWon()),
      links && worst.length > 0 && h('section', {}, h('h3', {}, 'First to look at'), h('ol', {class: 'worst'}, worst.map((finding) => h('li', {},
          button([chip(finding), ' ', sentence(finding.message || finding.title), h('span', {class: 'where'}, ` ${finding.place}`),
                  more(finding) > 0 && h('span', {class: 'where'}, `; its fix repairs ${counted(more(finding), 'more finding')}`)], {class: 'plain'}, () => { showRun(data.runOf(finding)); chooseFinding(finding); }))))),
      data.findings.length < data.findingsInAll && h('p', {}, `${data.findingsInAll - data.findings.length} further findings are not in this page; the JSON report has them all.`),
      s.warnings.length > 0 && h('section', {}, h('h3', {}, 'To be known'), h('ul', {}, s.warnings.map((warning) => h('li', {}, warning)))));
}

/** Of a run without a finding. That nothing was seen is no good news. */
function cleanWords() {
  if (data.summary.operations === 0) return 'Nothing was checked';
  return data.summary.whole ? 'No race was found' : 'No race was found in what was checked, but not all was';
}

/** What the places that are not needed cost, where times are known. */
function timeWon() {
  const may = data.findings.filter((finding) => finding.sync && /^(unneeded|narrower)$/.test(finding.sync.verdict));
  const sum = (field) => may.reduce((all, finding) => all + (finding.sync[field] || 0), 0);
  const blocked = sum('blockedMs'), idle = sum('gpuIdleMs');
  if (blocked + idle === 0) return '';
  return ` Those that are not needed, or too wide, kept the host waiting for ${milliseconds(blocked)} and left the GPU idle for ${milliseconds(idle)}.`;
}

function drawTop() {
  const s = data.summary;
  const syncs = (verdict) => data.findings.filter(({suppressed, sync}) => !suppressed && sync && sync.verdict === verdict && sync.removable).length;
  const tally = (count, name) => count > 0 && h('span', {class: `chip ${name}`}, `${count.toLocaleString('en')} ${name}${/error|note/.test(name) && count > 1 ? 's' : ''}`);
  const run = state.run;
  replace($('top'),
      h('h1', {}, button('StreamSan', {title: 'Summary', class: 'home'}, () => chooseFinding(null))),
      run && (data.runs.length > 1
        ? h('select', {'aria-label': 'Process', onchange: (event) => { showRun(data.runs[Number(event.target.value)]); chooseFinding(list.step(1)); }},
            data.runs.map((each, i) => h('option', {value: i, selected: each === run}, `${baseName(each.program)} (${each.pid}), ${counted(data.findings.filter((finding) => data.runOf(finding) === each).length, 'finding')}`)))
        : h('span', {class: 'program', title: run.command}, commandName(run), h('span', {class: 'where'}, ` process ${run.pid}`))),
      h('span', {class: 'tallies'}, tally(s.errors, 'error'), tally(s.latent, 'latent'), tally(s.possible, 'possible'), tally(s.notes, 'note'), tally(s.suppressed, 'suppressed'),
          [['unneeded', 'may go'], ['narrower', 'too wide']].map(([verdict, word]) => syncs(verdict) > 0 &&
              h('span', {class: `chip sync-${verdict}`, title: 'places where the host waits'}, `${counted(syncs(verdict), 'wait')} ${word}`)),
          s.errors + s.latent + s.possible === 0 && (s.operations > 0 && s.whole ? h('span', {class: 'chip good'}, 'no race found') : h('span', {class: 'chip warn'}, s.operations > 0 ? 'not all was checked' : 'nothing was checked')), s.warnings.length > 0 && button(counted(s.warnings.length, 'warning'), {class: 'chip warn'}, () => chooseFinding(null))),
      h('span', {class: 'space'}),
      button('Theme', {title: 'Light, dark (t)', id: 'theme'}, nextTheme), button('Print', {}, () => window.print()), button('?', {title: 'Keys', 'aria-label': 'Help'}, showHelp));
}
/** "python3 train.py --steps 3": of paths only their last part. */
function commandName(run) {
  const words = run.command.split(' ').filter(Boolean).map((word) => (word.startsWith('-') ? word : word.replace(/^.*\/(?=.)/, '')));
  const text = words.length > 0 ? words.join(' ') : baseName(run.program);
  return text.length > 60 ? `${text.slice(0, 59)}…` : text;
}
function baseName(path) { return path.replace(/^.*\//, '') || 'program'; }

// ---- the address

let timer = 0;
function rememberSoon() {
  clearTimeout(timer);
  timer = setTimeout(remember, 250);
}
function remember() {
  if (!state.run) return;
  const parts = new URLSearchParams();
  if (data.runs.length > 1) parts.set('process', state.run.pid);
  if (state.finding) parts.set('finding', state.finding.fingerprint || `n${state.finding.index}`);
  if (state.op >= 0) parts.set('op', state.run.number[state.op] || `i${state.op}`);
  parts.set('view', `${Math.round(timeline.from)}~${Math.round(timeline.to)}`);
  if (timeline.axis === 'time') parts.set('axis', 'time');
  try { history.replaceState(null, '', `#${parts}`); } catch { /* some browsers limit how often */ }
}
function recall() {
  const parts = new URLSearchParams(location.hash.slice(1));
  const named = parts.get('finding');
  const pid = Number(parts.get('process'));
  const of = (finding) => finding.fingerprint === named || `n${finding.index}` === named;
  const finding = named && (data.findings.find((each) => of(each) && (!pid || each.pid === pid)) || data.findings.find(of)) || null;
  showRun(data.runs.find((run) => run.pid === pid) || (finding && data.runOf(finding)) || state.run || data.runs[0]);
  if (!state.run) return;
  if (parts.get('axis') === 'time' && state.run.gpuTimes) { timeline.setAxis('time'); timeline.fit(); timeline.resize(); }
  const view = /^(-?\d+)~(-?\d+)$/.exec(parts.get('view') || '');
  chooseFinding(finding, {move: !view});
  const op = parts.get('op');
  if (op) {
    const index = op.startsWith('i') ? Number(op.slice(1)) : state.run.index(Number(op));
    if (index >= 0 && index < state.run.count) chooseOp(index, {reveal: !view});
  }
  if (view) timeline.look(Number(view[1]), Number(view[2]));
}

// ---- keys, theme, help

function announce(text) { $('announce').textContent = text; }

function setTheme(theme) {
  if (theme === 'auto') document.documentElement.removeAttribute('data-theme');
  else document.documentElement.setAttribute('data-theme', theme);
  timeline.redraw();
}
function nextTheme() {
  const dark = matchMedia('(prefers-color-scheme: dark)').matches;
  const now = document.documentElement.getAttribute('data-theme') || (dark ? 'dark' : 'light');
  const next = now === 'dark' ? 'light' : 'dark';
  setTheme(next);
  try { localStorage.setItem('streamsan-theme', next); } catch { /* not kept, then */ }
}

function showHelp() {
  const dialog = h('dialog', {'aria-label': 'Keys'}, h('h2', {}, 'Keys'), h('dl', {class: 'facts'}, keys.map(([key, what]) => h('div', {}, h('dt', {}, h('kbd', {}, key)), h('dd', {}, what)))),
      h('p', {class: 'where'}, 'Wheel: zoom. Drag, or Shift and wheel: move along.'), h('form', {method: 'dialog'}, h('button', {autofocus: true}, 'Close')));
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

const actions = {
  n: () => chooseFinding(list.step(1)), p: () => chooseFinding(list.step(-1)), '?': showHelp, t: nextTheme,
  '/': () => list.search.focus(), '+': () => timeline.zoom(1 / 1.6), '=': () => timeline.zoom(1 / 1.6), '-': () => timeline.zoom(1.6), '0': () => timeline.fit(),
  f: () => timeline.reveal(state.op >= 0 ? [state.op] : timeline.marks.ops.map((op) => op.index)),
  Escape: () => (state.op >= 0 ? chooseOp(-1) : chooseFinding(null)),
};
document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog')) return;
  if (event.target.matches('input, select, textarea')) {
    if (event.key === 'Escape') event.target.blur();
    return;
  }
  const action = actions[event.key];
  if (!action || !state.run) return;
  event.preventDefault();
  action();
});
window.addEventListener('hashchange', recall);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => timeline.redraw());

try { if (themes.includes(localStorage.getItem('streamsan-theme'))) setTheme(localStorage.getItem('streamsan-theme')); } catch { /* no storage from disk in some browsers */ }
preparePrint($('print'), data, summary);
if (data.runs.length > 0) {
  recall();
} else {
  drawTop();
  replace($('panel'), summary());
  $('timeline').hidden = true;
}
// For tests, and for those who look under the bonnet.
window.streamsan = {data, state, timeline, list, chooseFinding, chooseOp};
