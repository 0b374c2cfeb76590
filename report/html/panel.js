// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is said of one finding, or of one operation. Buttons with the number of an operation lead to it.
import {bytesText, counted, milliseconds, sentence, timeText} from './data.js';
import {button, h} from './dom.js';
import {figureOf, legendOf} from './figure.js';
import {marksOf} from './marks.js';

const kHistory = 24;

const kVerdicts = {
  needed: 'Needed: it alone orders what is listed here.',
  narrower: 'Needed only in part: something narrower would do.',
  unneeded: 'Not needed in this run.',
  timing: 'Used for timing.',
  unknown: 'Not known whether it is needed.',
};

/** go: {op(index), run} or null in print. */
export function findingPanel(data, finding, go) {
  const run = data.runOf(finding), marks = marksOf(run, finding);
  const figure = run && figureOf(run, finding, marks);
  return [
    h('header', {class: 'finding-head'},
        h('p', {class: 'meta'}, chip(finding), h('span', {}, finding.sync ? 'synchronisation' : finding.title), finding.rule && h('span', {title: 'What the driver of today does though no document promises it: docs/rules.md has the rule'}, `leans on ${finding.rule}`),
            finding.count > 1 && h('span', {}, `met ${counted(finding.count, 'time')}`),
            finding.weaker > 0 && h('span', {title: 'with less certainty about bytes or order'}, `${counted(finding.weaker, 'weaker conflict')}`), finding.suppressed && h('span', {}, 'suppressed'),
            data.runs.length > 1 && h('span', {}, `process ${finding.pid}`)),
        h('h2', {}, sentence(finding.message || finding.title))),
    figure && h('div', {class: 'figure-box', tabindex: 0, role: 'group', 'aria-label': 'Figure of the finding'}, figure, legendOf(marks, finding)),
    finding.sync && syncSection(data, finding, run, go),
    h('div', {class: 'words'},
        finding.explanation && h('section', {}, h('h3', {}, 'Why'), h('p', {}, linked(sentence(finding.explanation), run, go))),
        finding.fix && h('section', {class: 'fix'}, h('h3', {}, 'Fix'), h('p', {}, linked(sentence(finding.fix), run, go)), groupLine(data, finding))),
    groupSection(data, finding, go),
    h('div', {class: 'cards'}, [...finding.accesses].reverse().map((access) => accessCard(data, access, run, go))),
    finding.related.length > 0 && h('section', {}, h('h3', {}, finding.accesses.length ? 'Related calls' : 'Operations'),
        h('div', {class: 'cards'}, finding.related.map((related) => card(h('span', {}, opLink(related.op, run, go), ' ', related.what),
            related.stream.name || laneOf(run, related.op), data.stack(related.stack))))),
    finding.buffer && bufferSection(data, finding, run, go),
    h('p', {class: 'fingerprint'}, 'fingerprint ', h('code', {}, finding.fingerprint)),
  ];
}

/** Of findings that one missing edge explains: why the fix may name operations other than the two shown. */
function groupLine(data, finding) {
  const all = data.groupOf(finding).length;
  return all > 1 && h('p', {class: 'where'}, `This one fix is for ${all} findings: it stands after the last of their earlier operations and before the first of their later ones.`);
}
function groupSection(data, finding, go) {
  const others = data.groupOf(finding).filter((each) => each !== finding);
  const ops = (each) => [...each.accesses].reverse().map((access) => (access.op ? `#${access.op}` : access.stream.name)).join(' → ');
  return others.length > 0 && h('section', {class: 'same-fix'}, h('h3', {}, `The same fix repairs ${counted(others.length, 'more finding')}`),
      h('ul', {class: 'history'}, others.map((each) => h('li', {}, chip(each), ' ', go ? button(each.title, {class: 'op'}, () => go.finding(each)) : each.title,
          h('span', {class: 'where'}, ` ${ops(each)} · ${each.place}${each.suppressed ? ' (suppressed)' : ''}`)))));
}

/** An array of CUDA's has none. */
function hasAddress(buffer) {
  return buffer.address !== '0x0';
}

export function chip(finding) {
  const name = finding.sync ? finding.sync.verdict : finding.severity;
  return h('span', {class: `chip ${finding.sync ? 'sync-' : ''}${name}`}, name);
}

/** "op #12" and "(op #12)" in sentences become links. */
function linked(text, run, go) {
  if (!go || !run) return text;
  return text.split(/(op #\d+)/).map((part) => {
    const number = /^op #(\d+)$/.exec(part);
    return number && run.index(Number(number[1])) >= 0 ? opLink(Number(number[1]), run, go, part) : part;
  });
}
function opLink(number, run, go, label) {
  if (!number) return null;
  const index = run ? run.index(number) : -1;
  if (!go || index < 0) return h('span', {class: 'op', title: 'not among the operations shown'}, label || `#${number}`);
  return button(label || `#${number}`, {class: 'op', 'data-op': number}, () => go.op(index));
}
function indexLink(index, run, go) {
  const number = run.number[index], label = number ? `#${number}` : run.what(index);
  return go ? button(label, {class: 'op'}, () => go.op(index)) : h('span', {class: 'op'}, label);
}
function laneOf(run, number) {
  const index = run && number ? run.index(number) : -1;
  return index >= 0 ? run.lanes[run.lane[index]].name : '';
}

function card(title, where, frames, extra) {
  return h('section', {class: 'card'}, h('h4', {}, title), where && h('p', {class: 'where'}, where), extra, stackList(frames));
}

function accessCard(data, access, run, go) {
  const where = access.stream.kind ? `${access.stream.name} (${access.stream.kind}), submitted by ${access.thread}` : access.thread;
  const known = {exact: 'bytes known exactly', learned: 'bytes learned from earlier launches', widened: 'bytes: an upper bound', inferred: 'bytes inferred from a pointer argument', texture: 'some of what a texture or surface is made of'}[access.bytes];
  const range = access.end !== '0x0' && h('p', {class: 'where'}, h('code', {}, `${access.begin} – ${access.end}`), `, ${known}`);
  return card(h('span', {}, h('b', {}, `${access.verb} `), opLink(access.op, run, go), ` by ${access.what}`), where, data.stack(access.stack), range);
}

export function stackList(frames) {
  if (frames.length === 0) return h('p', {class: 'where'}, 'no call stack was taken');
  const items = [], fold = frames.some((frame) => !frame.library);
  let folded = [];
  const flush = () => {
    if (folded.length === 0) return;
    const rest = folded;
    items.push(h('li', {class: 'folded'}, h('details', {}, h('summary', {}, counted(rest.length, 'library frame')), h('ol', {}, rest.map(frameItem)))));
    folded = [];
  };
  let forward = false;
  for (const frame of frames) {
    if (frame.forward && !forward) { flush(); items.push(h('li', {class: 'heading'}, 'where the forward operation was called')); }
    forward = frame.forward;
    if (frame.library && fold) folded.push(frame);
    else { flush(); items.push(frameItem(frame)); }
  }
  flush();
  return h('ol', {class: 'stack'}, items);
}
function frameItem(frame) {
  const whole = frame.module && !frame.file ? `${frame.module}+${frame.offset}` : '';
  const place = frame.file ? `${frame.file}${frame.line ? `:${frame.line}` : ''}${frame.column ? `:${frame.column}` : ''}` : frame.module ? `${frame.module.replace(/^.*\//, '')}+${frame.offset}` : frame.offset;
  return h('li', {class: frame.library ? 'library' : frame.python ? 'python' : ''}, frame.python && h('span', {class: 'language'}, 'py'),
      frame.func && [h('span', {class: 'function'}, frame.func), ' '], h('span', {class: frame.func ? 'place' : 'function', title: whole || place}, place));
}

function bufferSection(data, finding, run, go) {
  const buffer = finding.buffer;
  const index = run ? run.bufferOf(buffer, finding.accesses.map((access) => access.op)) : -1;
  const about = finding.accesses.map((access) => run ? run.index(access.op) : -1);
  return h('section', {}, h('h3', {}, 'Buffer'),
      h('div', {class: 'cards'},
          card(h('span', {}, buffer.name ? `“${buffer.name}”, ` : '', buffer.memory), buffer.variable ? (buffer.allocator && `looked up by ${buffer.allocator}`) : buffer.allocator ? `from ${buffer.allocator}` : 'allocator not known',
              data.stack(buffer.stack), h('p', {class: 'where'}, hasAddress(buffer) && [h('code', {}, buffer.address), ', '], `${bytesText(buffer.bytes)}; both touch `, h('code', {}, `${finding.overlapBegin} – ${finding.overlapEnd}`), finding.overlapRuns > 1 && ` and ${counted(finding.overlapRuns - 1, 'more range')}`)),
          index >= 0 && historyCard(run, index, about, go)));
}

export function historyCard(run, buffer, about, go) {
  const all = run.history(buffer);
  // Around what the finding is about, when there is too much.
  const positions = about.map((op) => all.indexOf(op)).filter((k) => k >= 0);
  const centre = positions.length ? Math.min(...positions) : 0;
  const from = Math.max(0, Math.min(centre - kHistory / 3 | 0, all.length - kHistory)), shown = all.slice(from, from + kHistory);
  return h('section', {class: 'card'}, h('h4', {}, 'What used it'),
      h('p', {class: 'where'}, all.length > shown.length ? `${shown.length} of ${counted(all.length, 'operation')} shown` : counted(all.length, 'operation'), ', in order of submission'),
      h('ol', {class: 'history'}, shown.map((op) => {
        const touch = run.touchesOf(op).find((each) => each.buffer === buffer);
        const verb = touch.reads && touch.writes ? 'uses' : touch.reads ? 'reads' : 'writes';
        const kind = run.className(op), word = kind === 'alloc' || kind === 'free' ? '' : verb;
        return h('li', {class: about.includes(op) ? 'about' : ''}, h('i', {class: `swatch k-${kind}`}), indexLink(op, run, go), ' ', run.number[op] ? run.what(op) : '', word && ` ${word} it`,
            h('span', {class: 'where'}, ` ${run.lanes[run.lane[op]].name}`));
      })));
}

function syncSection(data, finding, run, go) {
  const sync = finding.sync;
  const time = [['blocked', sync.blockedMs, 'the host was blocked in it'], ['GPU idle', sync.gpuIdleMs, 'the GPU had nothing to do because of it'],
                ['overlap lost', sync.overlapMs, 'GPU work that could have run beside other work']].filter(([, ms]) => ms !== null);
  const calls = run ? run.callsAt(sync.api, sync.stack) : [];
  // What the explanation below says is not said twice.
  const reasons = sync.reasons.filter((reason) => !finding.explanation.toLowerCase().includes(reason.toLowerCase()));
  return h('section', {class: 'sync'},
      h('p', {class: `verdict ${sync.verdict}`}, h('b', {}, kVerdicts[sync.verdict] || sync.verdict),
          ` ${counted(sync.calls, 'call')}${!sync.idleCalls ? '' : sync.idleCalls === sync.calls ? ', with nothing to wait for' : `, ${sync.idleCalls.toLocaleString('en')} of them with nothing to wait for`}.`,
          sync.evidence && ` The bytes of the kernels it waits for are ${sync.evidence}.`,
          sync.group > 0 && ` One of group ${sync.group}: not all of them may go.`,
          sync.removable && ' All that are called removable were left out together, and the replay was clean.'),
      time.length > 0 && h('dl', {class: 'times'}, time.map(([name, ms, title]) => h('div', {title}, h('dt', {}, name), h('dd', {}, milliseconds(ms))))),
      sync.replacement && h('section', {class: 'fix'}, h('h3', {}, 'Instead'), h('p', {}, linked(sentence(sync.replacement), run, go))),
      reasons.length > 0 && h('section', {}, h('h3', {}, 'Reasons'), h('ul', {}, reasons.map((reason) => h('li', {}, linked(sentence(reason), run, go))))),
      h('div', {class: 'cards'}, card(h('span', {}, sync.what, sync.library && ` inside of ${sync.library}`), sync.stream.name ? `waits for ${sync.stream.name}` : `waits: ${sync.waits}`, data.stack(sync.stack),
          calls.length > 0 && h('p', {class: 'where'}, 'calls: ', calls.slice(0, 12).map((index, k) => go ? button(String(k + 1), {class: 'op'}, () => go.op(index)) : ` ${k + 1}`), calls.length > 12 && ' …'))),
      sync.orders.length > 0 && h('section', {}, h('h3', {}, 'What it alone orders'),
          sync.orders.map((pair) => h('div', {class: 'pair'},
              h('p', {class: 'where'}, pair.buffer && `${pair.buffer.memory}${hasAddress(pair.buffer) ? ` at ${pair.buffer.address}` : ''}, ${bytesText(pair.buffer.bytes)}`, pair.count > 1 && `, ${counted(pair.count, 'time')}`, pair.rule && `; today ${pair.rule} would still order them`),
              h('div', {class: 'cards'}, accessCard(data, pair.earlier, run, go), accessCard(data, pair.later, run, go))))));
}

export function operationPanel(data, run, i, go) {
  const facts = [['lane', run.lanes[run.lane[i]].name], ['number', run.number[i] ? `#${run.number[i]}` : 'none'], ['kind', run.className(i)],
                 ['function', run.sites[run.site[i]].api], ['event', run.event[i] || ''], ['bytes', run.bytes[i] ? bytesText(run.bytes[i]) : ''],
                 ['time', run.end[i] >= 0 ? `${timeText(run.start[i])} – ${timeText(run.end[i])} (${timeText(run.end[i] - run.start[i])})` : '']].filter(([, value]) => value !== '');
  const about = data.findings.filter((finding) => data.runOf(finding) === run && finding.accesses.some((access) => access.op && access.op === run.number[i]));
  const edges = (list, end) => (list || []).slice(0, 20).map((edge) => h('li', {}, indexLink(edge[end], run, go), ' ', run.number[edge[end]] ? run.what(edge[end]) : '', h('span', {class: 'where'}, ` ${run.lanes[run.lane[edge[end]]].name}, ${edge.kind}`)));
  const into = edges(run.into.get(i), 'from'), outOf = edges(run.outOf.get(i), 'to');
  const touched = run.touchesOf(i);
  return [
    h('header', {class: 'finding-head'}, h('p', {class: 'meta'}, h('span', {class: 'chip'}, h('i', {class: `swatch k-${run.className(i)}`}), run.className(i)), 'operation'), h('h2', {}, run.what(i))),
    h('div', {class: 'cards'},
        h('section', {class: 'card'}, h('h4', {}, 'Facts'), h('dl', {class: 'facts'}, facts.map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {}, value)))),
            about.length > 0 && h('p', {}, 'Findings: ', about.slice(0, 6).map((finding) => button(finding.title, {class: 'op'}, () => go.finding(finding))))),
        h('section', {class: 'card'}, h('h4', {}, 'Called from'), stackList(run.stack(i))),
        (into.length > 0 || outOf.length > 0) && h('section', {class: 'card'}, h('h4', {}, 'Order with other lanes'),
            into.length > 0 && [h('p', {class: 'where'}, 'after'), h('ul', {class: 'history'}, into)], outOf.length > 0 && [h('p', {class: 'where'}, 'before'), h('ul', {class: 'history'}, outOf)])),
    touched.length > 0 && h('section', {}, h('h3', {}, counted(touched.length, 'buffer')), h('div', {class: 'cards'},
        touched.map((touch) => {
          const buffer = run.buffers[touch.buffer];
          return h('div', {class: 'card-pair'}, h('p', {class: 'where'}, hasAddress(buffer) && [h('code', {}, buffer.address), ', '], `${bytesText(buffer.bytes)} of ${buffer.memory}`), historyCard(run, touch.buffer, [i], go));
        }))),
  ];
}
