"""Rows that nobody has seen: they are answered or listed by rule, and nothing ends the replay."""

import csv
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "evidence"))

import replay  # noqa: E402
import rows  # noqa: E402
import sources  # noqa: E402
from rules_rows import ROW  # noqa: E402

MAREA = sys.argv.pop(1)  # the program


class Strangers(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.data = pathlib.Path(self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    def points(self, *changes, without=None):
        file = self.data / "inferencex-measured" / "e2e_points.csv"
        file.parent.mkdir(exist_ok=True)
        with open(file, "w", newline="") as out:
            writer = csv.DictWriter(out, [key for key in ROW if key != without] + ["new"], extrasaction="ignore")
            writer.writeheader()
            writer.writerows([ROW | {"new": "1"} | change for change in changes])
        return replay.run_all(MAREA, self.folder.name, sources.read(self.data))

    def test_without_any_data_there_are_no_cases(self):
        (self.data / "unrelated").mkdir()
        (self.data / "ml-energy").mkdir()  # empty
        self.assertEqual(sources.read(self.data), [])

    def test_new_versions_are_answered_and_the_unknown_is_listed_with_its_reason(self):
        version, model, device, number, precision = self.points(
            {"backend_version": "0.20.0"}, {"model_path": "acme/Unheard-7B"}, {"system": "x100_sxm"}, {"isl": "n/a"}, {"precision": "fp2"}
        )
        self.assertEqual((version.removed_by, version.failure, set(version.predicted)), ("", "", {"tpot", "ttft", "throughput"}))
        self.assertEqual(version.engine, "vllm-0.20.0")
        self.assertEqual(version.scenario["serving"]["host"], "vllm")
        self.assertEqual(model.failure, "not simulated: a model that is not in the catalogue")
        self.assertEqual(device.failure, "not simulated: a device that is not in the catalogue")
        self.assertEqual(number.failure, "not simulated: a figure is missing or is not a number")
        self.assertEqual(precision.failure, "not simulated: a number format that is not in the catalogue")
        self.assertNotIn("", [case.removed_by for case in (model, device, number, precision)])  # none counts for a goal

    def test_a_missing_column_is_named(self):
        (case,) = self.points({}, without="osl")
        self.assertEqual(case.failure, "not simulated: its data lack 'osl'")

    def test_a_scenario_that_the_program_refuses_is_listed_with_its_words(self):
        (case,) = self.points({"moe_ep_size": "3", "moe_tp_size": "1"})
        self.assertEqual(case.predicted, {})
        self.assertIn("expert_ranks", case.failure)

    def test_names_are_unique_and_can_be_files(self):
        file = self.data / "llm-d-prism" / "llmd_runs.csv"
        file.parent.mkdir()
        file.write_text("model,hardware,architecture,configuration,backend,input_tokens,output_tokens,concurrency,request_rate,ttft_mean_ms,tpot_ms,latency_mean_ms,run_date\n")
        with open(file, "a") as out:
            out.write(2 * "Llama-3.1-70B,H100,aggregated,1 TP4 a/b,vllm,100,10,6,9,50,20,230,20250914\n")
        names = [case.name for case in sources.read(self.data)]
        self.assertEqual(names, ["1-TP4-a-b-6", "1-TP4-a-b-6-2"])

    def test_files_that_cannot_be_read_as_a_whole_list_their_data_set(self):
        folder = self.data / "published-e2e"
        folder.mkdir()
        (folder / "cases.json").write_text("{")
        (case,) = sources.read(self.data)
        self.assertEqual((case.source, case.scenario), ("published_e2e", {}))

    def test_only_what_data_can_bring_about_is_caught(self):
        def broken(_):
            raise AssertionError("ours")

        self.assertRaises(AssertionError, rows.guarded, "x", "y", broken, {})


if __name__ == "__main__":
    unittest.main()
