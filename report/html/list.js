// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The list of findings, with search and filters.
import {counted, milliseconds, shortLabel} from './data.js';
import {button, h, replace} from './dom.js';
import {chip} from './panel.js';

const kMostShown = 500;

export class FindingList {
  /** on.choose(finding) */
  constructor(host, data, on) {
    this.data = data;
    this.on = on;
    this.run = null;
    this.chosen = null;
    this.off = new Set(data.findings.some((finding) => finding.suppressed) ? ['suppressed'] : []);
    this.search = h('input', {type: 'search', placeholder: 'Search (/)', 'aria-label': 'Search findings', oninput: () => this.refresh()});
    this.stream = h('select', {'aria-label': 'Stream', hidden: true, onchange: () => this.refresh()});
    this.chips = h('div', {class: 'chips', role: 'group', 'aria-label': 'Filters'});
    this.items = h('ol', {class: 'findings'});
    this.count = h('p', {class: 'where', 'aria-live': 'polite'});
    replace(host, h('div', {class: 'filters'}, this.search, this.stream, this.chips, this.count), this.items);
  }

  show(run) {
    this.run = run;
    const own = this.own();
    const streams = [...new Set(own.flatMap((finding) => streamsOf(finding)))].sort();
    replace(this.stream, h('option', {value: ''}, 'all streams'), streams.map((name) => h('option', {value: name}, name)));
    this.stream.hidden = streams.length < 2;
    const tags = [...new Set(own.flatMap((finding) => tagsOf(finding)))];
    replace(this.chips, tags.length > 1 && h('span', {class: 'said'}, 'Show'), tags.length > 1 && tags.map((tag) => button(tag, {class: 'toggle', 'aria-pressed': String(!this.off.has(tag))}, (event) => {
      if (this.off.has(tag)) this.off.delete(tag); else this.off.add(tag);
      event.currentTarget.setAttribute('aria-pressed', String(!this.off.has(tag)));
      this.refresh();
    })));
    this.refresh();
  }

  own() { return this.data.findings.filter((finding) => this.data.runOf(finding) === this.run); }
  visible() {
    const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean), stream = this.stream.value;
    return this.data.inGroups(this.own().filter((finding) => !tagsOf(finding).some((tag) => this.off.has(tag)) && (!stream || streamsOf(finding).includes(stream)) &&
        words.every((word) => textOf(this.data, finding).includes(word))));
  }

  refresh() {
    const list = this.visible(), all = this.own().length;
    const follows = (i) => i > 0 && list[i].group && list[i - 1].group === list[i].group;
    const followers = (i) => { let end = i + 1; while (end < list.length && follows(end)) ++end; return follows(i) ? 0 : end - i - 1; };
    this.count.textContent = list.length === all ? counted(all, 'finding') : `${list.length} of ${counted(all, 'finding')}`;
    replace(this.items, list.slice(0, kMostShown).map((finding, i) => h('li', {class: follows(i) ? 'follower' : undefined}, button([
      h('span', {class: 'line'}, chip(finding), h('b', {}, finding.sync ? finding.sync.what : finding.title), finding.count > 1 && h('span', {class: 'times-met'}, `×${finding.count.toLocaleString('en')}`)),
      h('span', {class: 'place'}, finding.sync ? syncLine(finding.sync, finding) : placeLine(finding)),
      followers(i) > 0 && h('span', {class: 'said'}, `its fix repairs the next ${followers(i) === 1 ? 'finding' : `${followers(i)} findings`}, too`),
    ], {class: 'item', 'data-finding': finding.index, 'aria-current': finding === this.chosen ? 'true' : undefined}, () => this.on.choose(finding)))));
    if (list.length > kMostShown) this.items.append(h('li', {class: 'where'}, `and ${list.length - kMostShown} more: search to see them`));
  }

  choose(finding) {
    this.chosen = finding;
    for (const item of this.items.querySelectorAll('.item')) {
      const current = finding && Number(item.dataset.finding) === finding.index;
      if (current) { item.setAttribute('aria-current', 'true'); item.scrollIntoView({block: 'nearest'}); } else item.removeAttribute('aria-current');
    }
  }
  /** The one `by` further on; the first when there is none. */
  step(by) {
    const list = this.visible();
    if (list.length === 0) return null;
    const at = list.indexOf(this.chosen);
    return at < 0 ? list[by > 0 ? 0 : list.length - 1] : list[(at + by + list.length) % list.length];
  }
}

function tagsOf(finding) {
  const kind = finding.kind === 'unneeded-sync' ? 'sync' : finding.kind;
  return [finding.sync ? finding.sync.verdict : finding.severity, kind, ...(finding.suppressed ? ['suppressed'] : [])];
}
function streamsOf(finding) {
  const own = finding.accesses.map((access) => access.stream), sync = finding.sync;
  const all = sync ? [sync.stream, ...sync.orders.flatMap((pair) => [pair.earlier.stream, pair.later.stream])] : own;
  return all.filter((stream) => stream.kind).map((stream) => stream.name);
}
function textOf(data, finding) {
  if (!finding.text) {
    const stacks = finding.accesses.map((access) => access.stack).concat(finding.sync ? [finding.sync.stack] : []);
    finding.text = [finding.title, finding.message, finding.place, finding.sync ? 'sync' : finding.kind, finding.severity, finding.explanation, finding.fix, finding.fingerprint,
                    finding.sync ? `${finding.sync.verdict} ${finding.sync.what} ${finding.sync.library}` : '',
                    ...finding.accesses.map((access) => `${access.what} ${access.stream.name} #${access.op}`),
                    ...stacks.flatMap((stack) => data.stack(stack).map((frame) => `${frame.func} ${frame.file}`))].join('\n').toLowerCase();
  }
  return finding.text;
}
function bare(place) { return place.replace(/^\((.*)\)$/, '$1'); }
function placeLine(finding) {
  const what = finding.accesses.map((access) => shortLabel(access.what)).reverse().join(' → ');
  return [bare(finding.place), what].filter(Boolean).join(' · ') || finding.message;
}
function syncLine(sync, finding) {
  const time = sync.gpuIdleMs ?? sync.blockedMs;
  return [counted(sync.calls, 'call'), time !== null && time !== undefined && `${milliseconds(time)} ${sync.gpuIdleMs !== null ? 'of GPU idle' : 'blocked'}`, bare(finding.place)].filter(Boolean).join(' · ');
}
