// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Paper: the summary, then one finding after another with its figure. Built when the browser is about to print.
import {h, replace} from './dom.js';
import {findingPanel} from './panel.js';

const kMostPrinted = 100;

export function preparePrint(host, data, summary) {
  window.addEventListener('beforeprint', () => {
    const findings = data.inGroups(data.findings.filter((finding) => !finding.suppressed)).slice(0, kMostPrinted);
    replace(host, h('h1', {}, 'StreamSan report'), summary(),
        findings.map((finding) => h('article', {class: 'printed'}, findingPanel(data, finding, null))),
        data.findings.length > findings.length && h('p', {}, `${data.findings.length - findings.length} more findings are not printed.`));
  });
  window.addEventListener('afterprint', () => replace(host));
}
