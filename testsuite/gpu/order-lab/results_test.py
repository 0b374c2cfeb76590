# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The questions, the answers and the page of the laboratory agree with each other, and with the rules.

    results_test.py ORDER_LAB        the laboratory, built with the simulation
"""
import importlib.machinery
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
loader = importlib.machinery.SourceFileLoader("results", str(HERE / "results"))
spec = importlib.util.spec_from_loader("results", loader)
results = importlib.util.module_from_spec(spec)
loader.exec_module(results)

ORDER_LAB = None
MACHINE = {"gpu": "a GPU", "driver": "1.2", "toolkit": "13.0"}
ANSWER = {"seen": 0, "of": 100, "control_seen": 20, "control_of": 20}


def questions():
    return [row for _, rows in results.experiments() for row in rows]


class Questions(unittest.TestCase):
    def test_each_is_whole_and_of_a_known_rule(self):
        known = results.rules()
        self.assertGreater(len(known), 200)
        self.assertGreater(len(questions()), 100)
        for row in questions():
            self.assertEqual(set(row), {"experiment", "rule", "question", "documented"}, row)
            self.assertIn(row["rule"], known)
            self.assertIn(row["documented"], ("ordered", "unordered", "unspecified"))
        names = [row["experiment"] for row in questions()]
        self.assertEqual(len(names), len(set(names)))

    def test_the_laboratory_reads_the_same_ones(self):
        self.assertEqual(list(results.models(ORDER_LAB)), [row["experiment"] for row in questions()])

    def test_the_model_keeps_to_what_is_documented(self):
        model = results.models(ORDER_LAB)
        for row in questions():
            if row["documented"] != "unspecified":
                self.assertIn(model[row["experiment"]], (row["documented"], "not asked"), row["experiment"])


class Answers(unittest.TestCase):
    def output(self, *rows, machine=None):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        lines = [machine or MACHINE, *rows]
        (pathlib.Path(folder.name) / "order-lab.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        return pathlib.Path(folder.name)

    def test_a_run_is_added_and_replaced(self):
        old = results.add(self.output({"experiment": "fifo", **ANSWER, "seen": 3}), "abc", [])
        new = results.add(self.output({"experiment": "fifo", **ANSWER}), "abc", old)
        self.assertEqual([run["experiments"]["fifo"]["seen"] for run in new], [0])
        both = results.add(self.output({"experiment": "event", **ANSWER}), "def", new)
        self.assertEqual(len(both), 2)
        machine = results.machines(both)[0]
        self.assertEqual(results.newest(both, machine, "fifo"), ANSWER)
        self.assertIsNone(results.newest(both, machine, "free"))

    def test_the_simulation_is_no_gpu(self):
        folder = self.output({"experiment": "fifo", **ANSWER}, machine={**MACHINE, "gpu": "simulation"})
        with self.assertRaises(results.Refused):
            results.add(folder, "abc", [])

    def test_an_unknown_question_is_refused(self):
        with self.assertRaises(results.Refused):
            results.add(self.output({"experiment": "no-such", **ANSWER}), "abc", [])

    def test_what_was_skipped_is_no_answer(self):
        runs = results.add(self.output({"experiment": "fifo", "skipped": "time limit"}), "abc", [])
        self.assertEqual(runs[0]["experiments"], {})

    def test_the_words_tell_silence_from_an_answer(self):
        self.assertEqual(results.words_for(None), "not asked yet")
        self.assertEqual(results.words_for(ANSWER), "0 of 100")
        self.assertEqual(results.words_for({**ANSWER, "of": 0}), "no valid repeat")
        self.assertEqual(results.words_for({**ANSWER, "control_seen": 19}), "control failed")

    def test_what_was_written_of_real_gpus_is_whole(self):
        names = {row["experiment"]: row for row in questions()}
        for run in results.load():
            self.assertNotEqual(run["gpu"], "simulation")
            for name, answer in run["experiments"].items():
                self.assertEqual(set(answer), set(results.COUNTS))
                documented = names[name]["documented"]
                if documented == "ordered":
                    self.assertEqual(answer["seen"], 0, f"{name}: a document is wrong, or the experiment")


class Page(unittest.TestCase):
    def test_it_is_what_would_be_printed(self):
        self.assertEqual(results.PAGE.read_text(), results.page(results.load(), results.models(ORDER_LAB)),
                         "run ninja order-lab-page")

    def test_another_answer_is_another_page(self):
        model = results.models(ORDER_LAB)
        runs = [{**MACHINE, "commit": "abc", "experiments": {"fifo": ANSWER}}]
        text = results.page(runs, model)
        self.assertIn("| 0 of 100 |", text)
        runs[0]["experiments"]["fifo"] = {**ANSWER, "seen": 7}
        self.assertIn("| 7 of 100 |", results.page(runs, model))

    def test_the_model_is_never_refuted(self):
        model = results.models(ORDER_LAB)
        for run in results.load():
            for name, answer in run["experiments"].items():
                if model[name] in ("ordered", "assumed"):
                    self.assertEqual(answer["seen"], 0, f"{name} on {run['gpu']}")


class Simulated(unittest.TestCase):
    def test_every_control_is_seen(self):
        out = subprocess.run([ORDER_LAB, str(HERE / "experiments"), "--repeats", "1"], capture_output=True, text=True, check=False)
        rows = [row for row in map(json.loads, out.stdout.splitlines()) if "experiment" in row]
        self.assertEqual([row["experiment"] for row in rows if row["control_seen"] != 1 or row["verdict"]], [])
        self.assertEqual(out.returncode, 0)


if __name__ == "__main__":
    ORDER_LAB = sys.argv.pop(1)
    unittest.main()
