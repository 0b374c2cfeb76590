# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The HTML report in a browser.

    page_test.py STREAMSAN PAGE_SAMPLES TRACES [unittest arguments]

Exits with 77 where there is no browser (see browser.py; apt-get install chromium). With STREAMSAN_SCREENSHOTS=DIR
pictures are left there to be looked at. Nothing here measures time: what must be fast is counted instead.
"""
import lzma
import os
import subprocess
import sys
import unittest

from browser import find_browser
from page_case import STREAMSAN, TRACES, PageCase
from timeline_test import TimelineTest  # noqa: F401, run from here


class PageTest(PageCase):
    # ---- what is said

    def test_summary_comes_first(self):
        page = self.open("syncs")
        self.assertIn("1 error, 4 notes", self.text(page, "#panel h2"))
        self.assertIn("9 operations of one process", self.text(page, "#panel"))
        self.assertIn("1 unneeded, 1 narrower, 1 needed, 1 unknown", self.text(page, "#panel"))
        self.assertIn("kept the host waiting for 25.00 ms", self.text(page, "#panel"))
        self.assertEqual(self.count(page, ".findings .item"), 5)
        self.picture(page, "summary")

    def test_a_finding_says_everything(self):
        page = self.open("race")
        page.press("n")
        panel = self.text(page, "#panel")
        for words in ("reads device memory that cudaMemcpyAsync", "WHY", "but it was recorded at", "FIX", "Move cudaEventRecord (train.cu:60)",
                      "step()\ntrain.cu:88:5", "load()", "8192 bytes", "cudaMalloc", "bytes inferred from a pointer argument", "5 operations"):
            self.assertIn(words.replace("\n", " "), " ".join(panel.split()))
        self.assertEqual(self.count(page, ".history li.about"), 2)
        self.picture(page, "finding-light")

    def test_figure_shows_the_missing_and_the_nearest_order(self):
        page = self.open("race")
        page.press("n")
        self.assertEqual(self.count(page, ".figure .node.later, .figure .node.earlier"), 2)
        self.assertEqual(self.count(page, ".figure .arrow.missing"), 1)
        self.assertEqual(self.count(page, ".figure .arrow.existing"), 1)
        # What the lines mean is said below, and of no others.
        self.assertEqual(page.evaluate("[...document.querySelectorAll('.key span')].map((each) => each.textContent.trim())"),
                         ["one of the two operations", "order that is missing", "operation nearby", "order that there is"])
        marks = page.evaluate("streamsan.timeline.marks")
        self.assertEqual([(a["from"], a["to"]) for a in marks["arrows"] if a["role"] == "missing"], [(2, 4)])
        self.assertEqual([(a["from"], a["to"], a["text"]) for a in marks["arrows"] if a["role"] == "existing"], [(1, 3, "event 1")])

    def test_no_word_of_a_figure_lies_on_a_box(self):
        for name in ("race", "syncs", "times"):
            page = self.open(name)
            for _ in range(5):
                page.press("n")
                covered = page.evaluate("""(() => {
                  const boxes = [...document.querySelectorAll('.figure .node rect')].map((each) => each.getBoundingClientRect());
                  return [...document.querySelectorAll('.figure .arrow-text')].filter((text) => {
                    const own = text.getBoundingClientRect(), y = (own.top + own.bottom) / 2;
                    return boxes.some((box) => own.right > box.left && own.left < box.right && y > box.top && y < box.bottom);
                  }).map((text) => text.textContent);
                })()""")
                self.assertEqual(covered, [])

    def test_sync_that_may_go_is_struck_out_and_its_replacement_drawn(self):
        page = self.open("syncs")
        for key in "nnn":
            page.press(key)
        self.assertIn("Needed only in part", self.text(page, "#panel"))
        self.assertIn("12.50 ms", self.text(page, "#panel .times"))
        self.assertIn("record an event on stream 2", self.text(page, "#panel .sync .fix").lower())
        self.assertGreaterEqual(self.count(page, ".figure .strike"), 1)
        self.assertEqual(self.count(page, ".figure .arrow.proposed"), 1)
        self.assertEqual(page.evaluate("streamsan.timeline.marks.struck"), [5, 8])
        self.picture(page, "sync-narrower")
        page.press("p")
        self.assertIn("Not needed in this run", self.text(page, "#panel"))
        self.assertEqual(self.count(page, ".figure .arrow.gone"), 2)
        self.picture(page, "sync-unneeded")
        for key in "nn":
            page.press(key)
        self.assertEqual(self.count(page, ".figure .strike"), 0, "a call that is needed is not struck out")
        self.assertEqual(self.count(page, ".figure .arrow.ordered"), 1)

    def test_operation(self):
        page = self.open("race")
        page.evaluate("streamsan.chooseOp(3)")
        panel = self.text(page, "#panel")
        self.assertIn("cudaStreamWaitEvent", panel)
        self.assertIn("#14 cudaEventRecord", panel)
        page.evaluate("document.querySelector('#panel .history .op').click()")
        self.assertIn("cudaEventRecord", self.text(page, "#panel h2"))

    def test_without_a_view_findings_are_told_all_the_same(self):
        page = self.open("no-view")
        page.press("n")
        self.assertIn("Move cudaEventRecord", self.text(page, "#panel"))
        self.assertEqual(self.count(page, ".figure .arrow.missing"), 1)

    def test_nothing_found(self):
        page = self.open("nothing")
        self.assertIn("No race was found", self.text(page, "#panel"))
        self.assertIn("9 operations of one process were judged", self.text(page, "#panel"))
        self.assertEqual(self.text(page, "#top .chip.good"), "no race found")
        self.assertNotIn("a finding on the left", self.text(page, "#panel"), "there is none")

    def test_nothing_checked_is_not_nothing_found(self):
        page = self.open("unwatched")
        self.assertEqual(self.text(page, "#panel h2"), "Nothing was checked")
        self.assertIn("it did not use CUDA", self.text(page, "#panel"))
        self.assertEqual(self.text(page, "#top .chip.warn"), "nothing was checked")
        self.assertEqual(self.count(page, "#top .chip.good"), 0)
        self.assertEqual(self.count(page, "#sidebar select:not([hidden])"), 0, "nothing to choose from")
        page = self.open("partial")
        self.assertIn("but not all was", self.text(page, "#panel h2"))
        self.assertEqual(self.text(page, "#top .chip.warn"), "not all was checked")
        self.assertEqual(self.count(page, "#top .chip.good"), 0)

    # ---- one missing edge

    def test_findings_of_one_fix_stand_together(self):
        page = self.open("group")
        order = ["00000000000000c0", "00000000000000c2", "00000000000000c3", "00000000000000c1"]
        self.assertEqual(page.evaluate("streamsan.list.visible().map((each) => each.fingerprint)"), order)
        self.assertEqual(page.evaluate("[...document.querySelectorAll('.findings li')].map((each) => each.className)"), ["", "follower", "follower", ""])
        self.assertEqual(page.evaluate("[...document.querySelectorAll('.findings .said')].map((each) => each.innerText)"),
                         ["its fix repairs the next 2 findings, too"])
        # One of each missing edge is what is to be looked at first.
        first = page.evaluate("[...document.querySelectorAll('.worst li')].map((each) => each.innerText)")
        self.assertEqual(len(first), 2)
        self.assertIn("train.cu:90:5 in step(); its fix repairs 2 more findings", first[0])
        self.assertNotIn("its fix repairs", first[1])
        # The keys go through the list as it is seen.
        for print_ in order + order[:1]:
            page.press("n")
            self.assertEqual(page.evaluate("streamsan.state.finding.fingerprint"), print_)
        page.press("p")
        self.assertEqual(page.evaluate("streamsan.state.finding.fingerprint"), order[-1])
        self.assertEqual(self.count(page, ".same-fix"), 0, "this one stands alone")
        self.assertNotIn("This one fix is for", self.text(page, "#panel .fix"))
        page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        self.assertEqual(page.evaluate("[...document.querySelectorAll('.printed .fingerprint code')].map((each) => each.textContent)"), order)

    def test_a_finding_leads_to_the_others_of_its_fix(self):
        page = self.open("group", "#finding=00000000000000c2")
        self.assertIn("This one fix is for 3 findings", self.text(page, "#panel .fix"))
        self.assertEqual(self.text(page, ".same-fix h3").lower(), "the same fix repairs 2 more findings")
        others = page.evaluate("[...document.querySelectorAll('.same-fix li')].map((each) => each.innerText)")
        self.assertEqual(len(others), 2)
        self.assertRegex(others[0], "^error .*#15 → #18 · train.cu:90:5 in step")
        self.assertRegex(others[1], "^latent .*#15 → #21 · train.cu:93:5 in step")
        self.picture(page, "group")
        page.evaluate("document.querySelectorAll('.same-fix button')[1].click()")
        self.assertEqual(page.evaluate("streamsan.state.finding.fingerprint"), "00000000000000c3")
        # Of a search only what it finds; the others are still named by the finding.
        page.press("/")
        page.type("latent")
        self.assertEqual(self.count(page, ".findings .item"), 1)
        self.assertEqual(self.count(page, ".findings .said"), 0)
        self.assertEqual(self.count(page, ".same-fix li"), 2)

    # ---- moving about

    def test_keys(self):
        page = self.open("syncs")
        page.press("n")
        self.assertEqual(page.evaluate("streamsan.state.finding.index"), 0)
        page.press("n")
        page.press("n")
        page.press("p")
        self.assertEqual(page.evaluate("streamsan.state.finding.index"), 1)
        page.press("Escape")
        self.assertEqual(page.evaluate("streamsan.state.finding"), None)
        page.press("0")
        before = page.evaluate("streamsan.timeline.to - streamsan.timeline.from")
        page.press("+")
        self.assertLess(page.evaluate("streamsan.timeline.to - streamsan.timeline.from"), before)
        page.press("0")
        self.assertEqual(page.evaluate("streamsan.timeline.to - streamsan.timeline.from"), before)
        page.press("?")
        self.assertEqual(self.count(page, "dialog[open]"), 1)
        self.assertIn("next, previous finding", self.text(page, "dialog"))
        page.press("Escape")
        self.assertEqual(self.count(page, "dialog"), 0)
        page.press("/")
        page.type("unneeded")
        self.assertEqual(self.count(page, ".findings .item"), 1)
        self.assertEqual(page.evaluate("document.querySelector('#sidebar .filters .where').textContent"), "1 of 5 findings")

    def test_without_a_mouse(self):
        page = self.open("race")
        for _ in range(40):
            page.press("Tab")
            if page.evaluate("document.activeElement.classList.contains('item')"):
                break
        page.press("Enter")
        self.assertEqual(page.evaluate("streamsan.state.finding.index"), 0)
        for _ in range(40):
            page.press("Tab")
            if page.evaluate("document.activeElement.tagName") == "CANVAS":
                break
        page.press("ArrowRight")
        first = page.evaluate("streamsan.state.op")
        page.press("ArrowDown")
        second = page.evaluate("streamsan.state.op")
        self.assertNotEqual(page.evaluate(f"streamsan.state.run.lane[{first}]"), page.evaluate(f"streamsan.state.run.lane[{second}]"))
        self.assertIn(page.evaluate(f"streamsan.state.run.what({second})"), self.text(page, "#announce"))

    def test_filters(self):
        page = self.open("syncs")
        page.evaluate("[...document.querySelectorAll('.chips button')].find((each) => each.textContent === 'sync').click()")
        self.assertEqual(self.count(page, ".findings .item"), 1)
        page.evaluate("[...document.querySelectorAll('.chips button')].find((each) => each.textContent === 'sync').click()")
        page.evaluate("(() => { const s = document.querySelector('#sidebar select'); s.value = 'stream 1'; s.dispatchEvent(new Event('change')); })()")
        self.assertEqual(self.count(page, ".findings .item"), 1)
        page.evaluate("(() => { const s = document.querySelector('#sidebar select'); s.value = ''; s.dispatchEvent(new Event('change')); })()")
        page.press("/")
        page.type("train.cu:8")  # not a word of any text: names and lines are apart
        self.assertLess(self.count(page, ".findings .item"), 5)

    def test_links(self):
        page = self.open("times", "#finding=00000000000000b2&axis=time")
        self.assertEqual(page.evaluate("streamsan.state.finding.fingerprint"), "00000000000000b2")
        self.assertEqual(page.evaluate("streamsan.timeline.axis"), "time")
        page = self.open("race", "#op=18&view=2~7")
        self.assertIn("kernel consume", self.text(page, "#panel h2"))
        # What is seen stands in the address, and leads back to it.
        page.press("n")
        page.evaluate("streamsan.timeline.look(1, 7)")
        page.evaluate("new Promise((done) => setTimeout(done, 400))")
        link = page.evaluate("location.hash")
        seen = page.evaluate("[streamsan.timeline.from, streamsan.timeline.to].map(Math.round)")
        again = self.open("race", link)
        self.assertEqual(again.evaluate("[streamsan.timeline.from, streamsan.timeline.to].map(Math.round)"), seen)
        self.assertEqual(again.evaluate("streamsan.state.finding.index"), 0)
        page = self.open("race", "#finding=gone&op=99999999&view=x&process=1")
        self.assertEqual(page.evaluate("streamsan.state.finding"), None, "a link to what is not there does no harm")

    def test_processes(self):
        page = self.open("processes")
        self.assertEqual(page.evaluate("streamsan.state.run.pid"), 4711)
        page.evaluate("(() => { const s = document.querySelector('#top select'); s.value = '1'; s.dispatchEvent(new Event('change')); })()")
        self.assertEqual(page.evaluate("streamsan.state.run.pid"), 4712)
        self.assertEqual(self.count(page, ".findings .item"), 0, "suppressed findings are filtered out at first")
        page = self.open("processes", "#process=4712&finding=00000000000000aa")
        self.assertEqual(page.evaluate("streamsan.state.finding.pid"), 4712)

    # ---- looks

    def test_light_and_dark(self):
        colour = "getComputedStyle(document.body).backgroundColor"
        light = self.open("race").evaluate(colour)
        page = self.open("race", dark=True)
        dark = page.evaluate(colour)
        self.assertNotEqual(light, dark)
        page.press("n")
        self.picture(page, "finding-dark")
        page.press("t")
        self.assertEqual(page.evaluate(colour), light)
        page.press("t")
        self.assertEqual(page.evaluate(colour), dark)
        page.evaluate("localStorage.clear()")

    def test_contrast(self):
        ratio = """((front, back) => {
          const style = getComputedStyle(document.documentElement);
          const light = (name) => {
            const hex = style.getPropertyValue(name).trim();
            const part = (at) => { const c = parseInt(hex.slice(at, at + 2), 16) / 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; };
            return 0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5);
          };
          const [a, b] = [light(front), light(back)].sort((x, y) => y - x);
          return (a + 0.05) / (b + 0.05);
        })"""
        for dark in (False, True):
            page = self.open("race", dark=dark)
            pairs = [(front, back) for front in ("--text", "--soft", "--accent", "--danger", "--good", "--warn") for back in ("--back", "--panel")]
            pairs += [("--box-text", f"--c-{name}") for name in page.evaluate("streamsan.data.classes")]
            for front, back in pairs:
                self.assertGreaterEqual(page.evaluate(f"{ratio}('{front}', '{back}')"), 4.5, f"{front} on {back}, dark={dark}")

    def test_names_for_those_who_cannot_see(self):
        for name in ("syncs", "times", "processes"):
            page = self.open(name)
            page.press("n")
            unnamed = page.evaluate("""[...document.querySelectorAll('button, input, select, canvas, svg, [role]')].filter((each) =>
                !each.closest('[aria-hidden]') && !(each.getAttribute('aria-label') || each.innerText || each.placeholder || each.title || each.textContent).trim()).map((each) => each.outerHTML)""")
            self.assertEqual(unnamed, [])
            self.assertEqual(page.evaluate("[...document.querySelectorAll('[tabindex]')].filter((each) => each.tabIndex > 0).length"), 0)

    def test_narrow_window(self):
        page = self.open("race", width=420, height=800)
        page.press("n")
        self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth"), 420)
        self.picture(page, "narrow")

    def test_print(self):
        page = self.open("syncs")
        page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        page.call("Emulation.setEmulatedMedia", {"media": "print"})
        self.assertEqual(self.count(page, "#print .printed"), 5)
        self.assertEqual(page.evaluate("getComputedStyle(document.getElementById('app')).display"), "none")
        self.assertGreater(self.count(page, "#print svg.figure"), 3)
        self.picture(page, "print")
        page.evaluate("window.dispatchEvent(new Event('afterprint'))")
        self.assertEqual(self.count(page, "#print .printed"), 0)
        paper = self.path("paper")
        page.pdf(paper)
        with open(paper, "rb") as file:
            self.assertEqual(file.read(5), b"%PDF-")

    # ---- safe and fast

    def test_names_of_the_program_are_text(self):
        page = self.open("hostile")
        page.press("n")
        for index in range(9):
            page.evaluate(f"streamsan.chooseOp({index})")
            page.evaluate(f"streamsan.timeline.hover({index}, {{clientX: 9, clientY: 9}})")
        page.press("Escape")
        page.press("/")
        page.type("<img src=x onerror=alert(4)>")
        page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        page.settle()
        self.assertEqual(self.count(page, "img, iframe, object, embed, link"), 0)
        self.assertEqual(self.count(page, "script"), 2, "the data and the script of the page")
        self.assertIn("</script><script>alert(1)</script><img", self.text(page, "#panel h2"))
        self.picture(page, "hostile")

    def test_nothing_else_may_run_or_be_fetched(self):
        page = self.open("race")
        for action in ("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.ran = 1\">')",
                       "document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.ran = 2'}))",
                       "fetch('http://127.0.0.1:9/').catch(() => 0)",
                       "document.body.append(Object.assign(new Image(), {src: 'http://127.0.0.1:9/x.png'}))"):
            page.evaluate(f"void ({action})")
        page.settle()
        self.assertEqual(page.evaluate("window.ran"), None)
        self.assertNotEqual(page.problems, [], "the policy refuses and says so")
        page.problems.clear()
        page.requests[:] = [url for url in page.requests if url.startswith("file:") and not url.endswith("/x")]
        self.assertEqual([url for url in page.requests if url.startswith("http")], [])

    def test_a_recorded_trace(self):
        trace = os.path.join(self.folder.name, "pipeline.trace")
        with lzma.open(os.path.join(TRACES, "null-driver-pipeline.trace.xz")) as packed, open(trace, "wb") as file:
            file.write(packed.read())
        done = subprocess.run([STREAMSAN, "check", "--symbolize=0", "--html", self.path("recorded"), trace], capture_output=True)
        self.assertEqual(done.returncode, 66, done.stderr)
        page = self.open("recorded")
        page.press("n")
        self.assertEqual(page.evaluate("streamsan.timeline.marks.ops.map((op) => op.role).sort().slice(0, 2)"), ["earlier", "later"])
        self.assertGreater(page.evaluate("streamsan.state.run.edges.length"), 0)


if __name__ == "__main__":
    if not find_browser():
        print("skipped: no browser to show the page in (apt-get install chromium, or STREAMSAN_CHROMIUM=PATH)")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=2)
