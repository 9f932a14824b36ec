"""The rules and scenarios of the accuracy page, on rows of our own making."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "evidence"))

import catalogue  # noqa: E402
import inferencex  # noqa: E402
import replay  # noqa: E402
from rules_rows import ROW  # noqa: E402

MAREA = sys.argv.pop(1)  # the program


def row(**changes):
    return {**ROW, **changes}


class Rules(unittest.TestCase):
    def test_a_plain_row_counts(self):
        self.assertEqual(inferencex.removed_by(row()), "")

    def test_each_rule_names_itself(self):
        for changes, words in (
            ({"mode": "disagg"}, "separate pools"),
            ({"backend": "sglang"}, "another engine"),
            ({"attention_dp_size": ""}, "settings missing"),
            ({"tpot_spread": "1.2"}, "repeats"),
            ({"ttft_spread": "1.11"}, "repeats"),
            ({"silicon_tpot_ms": "0.1"}, "faster than its bytes"),
        ):
            with self.subTest(changes):
                self.assertIn(words, inferencex.removed_by(row(**changes)))

    def test_multiplied_expert_ranks_are_undone(self):
        self.assertEqual(inferencex.expert_ranks(row(tp_size="4", attention_dp_size="4", moe_ep_size="16")), 4)
        self.assertEqual(inferencex.expert_ranks(row(tp_size="4", attention_dp_size="1", moe_ep_size="4")), 4)
        self.assertEqual(inferencex.expert_ranks(row(tp_size="4", attention_dp_size="1", moe_ep_size="1")), 1)

    def test_bytes_of_a_step_by_hand(self):
        # Llama 3.1 8B in 16 bits. A layer: queries and outputs 2 x 4096 x 4096, keys and values 2 x 4096 x 1024, three matrices of
        # 4096 x 14336; 32 layers; the head 4096 x 128256. Two bytes each.
        layer = 2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336
        self.assertEqual(catalogue.weight_bytes("llama-3.1-8b", "bf16", 1), 2 * (32 * layer + 4096 * 128256))
        # 32 layers x keys and values x 8 heads x 128 numbers x 2 bytes
        self.assertEqual(catalogue.kv_bytes("llama-3.1-8b", "bf16", 1), 32 * 2 * 8 * 128 * 2)

    def test_one_token_touches_its_experts_alone(self):
        # 8 of 256 experts a layer for one token; all of them, nearly, for very many
        one = catalogue.weight_bytes("minimax-m2.5", "fp8", 1)
        many = catalogue.weight_bytes("minimax-m2.5", "fp8", 100000)
        experts = 62 * 3 * 3072 * 1536
        self.assertAlmostEqual((many - one) / experts, 256 - 8, places=6)

    def test_throughput_follows_from_the_two_times(self):
        # 4 requests of 100 tokens in flight, each lives 80 ms + 99 x 9 ms
        self.assertAlmostEqual(inferencex.throughput(row(), 0.080, 0.009), 400 / (0.080 + 0.891))


class Replay(unittest.TestCase):
    def test_a_point_is_answered_with_every_metric_it_states(self):
        with tempfile.TemporaryDirectory() as folder:
            data = pathlib.Path(folder) / "inferencex-measured"
            data.mkdir()
            lines = [",".join(ROW), ",".join(ROW.values()), ",".join(row(backend="sglang").values())]
            (data / "e2e_points.csv").write_text("\n".join(lines) + "\n")
            cases = replay.run_all(MAREA, folder, inferencex.cases(folder))
        self.assertEqual([case.removed_by for case in cases], ["", "another engine than vLLM"])
        self.assertEqual(cases[0].failure, "")
        self.assertEqual(set(cases[0].predicted), {"tpot", "ttft", "throughput"})
        self.assertTrue(all(abs(cases[0].error(metric)) < 1 for metric in cases[0].predicted))
        self.assertEqual(cases[1].predicted, {})

    def test_a_scenario_that_does_not_fit_is_told_apart(self):
        with tempfile.TemporaryDirectory() as folder:
            data = pathlib.Path(folder) / "inferencex-measured"
            data.mkdir()
            line = ",".join(row(tp_size="1", moe_tp_size="1", system="h100_sxm").values())
            (data / "e2e_points.csv").write_text(",".join(ROW) + "\n" + line + "\n")
            (case,) = replay.run_all(MAREA, folder, inferencex.cases(folder))
        self.assertEqual(case.predicted, {})
        self.assertEqual(case.failure, "does not fit")

    def test_every_shipped_engine_is_read(self):
        for file in sorted((ROOT / "hardware" / "engines").glob("*.yaml")):
            with self.subTest(file.stem):
                done = subprocess.run(
                    [MAREA, "check", "first-run", "--set", f"serving.host={file.stem}"], capture_output=True, text=True, env={"MAREA_PATH": str(ROOT)}
                )
                self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
