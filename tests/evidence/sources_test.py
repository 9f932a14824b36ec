"""The measured cases of the smaller data sets, on rows of our own making: what is replayed, what is refused, and why."""

import csv
import gzip
import json
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "evidence"))

import aisimulate  # noqa: E402
import blis  # noqa: E402
import inference_perf  # noqa: E402
import llmd_prism  # noqa: E402
import llmservingsim  # noqa: E402
import ml_energy  # noqa: E402
import mlperf  # noqa: E402
import published_e2e  # noqa: E402
import replay  # noqa: E402
import settings  # noqa: E402

MAREA = sys.argv.pop(1)  # the program


def write(file, rows):
    file.parent.mkdir(parents=True, exist_ok=True)
    with open(file, "w", newline="") as out:
        writer = csv.DictWriter(out, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


class Sources(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.data = pathlib.Path(self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    def answer(self, module):
        cases = replay.run_all(MAREA, self.folder.name, module.cases(self.data))
        for case in cases:
            if not case.removed_by:
                self.assertEqual(case.failure, "")
                self.assertEqual(set(case.predicted), set(case.measured))
        return cases

    def test_a_stage_that_its_load_generator_throttles_is_a_closed_loop_outside_the_goals(self):
        row = {"config": "vllm", "engine": "vLLM 0.11.0", "max_num_seqs": 8, "prefix_caching": "off", "chunked_prefill": "off", "other": ""}
        row |= {"stage": 0, "requested_rate": 50, "achieved_rate": 50, "completed": 900, "output_tokens_per_s": 50, "prompt_len_mean": 100, "output_len_mean": 10}
        row |= {"latency_mean_ms": 90, "ttft_mean_ms": 20}
        write(
            self.data / "inference-perf" / "llama3-8b_1xH100_rate_sweep.csv",
            [row, row | {"stage": 1, "achieved_rate": 40}, row | {"stage": 2, "other": "bitsandbytes"}, row | {"stage": 3, "prefix_caching": "on"}],
        )
        plain, throttled, quantized, cached = self.answer(inference_perf)
        self.assertEqual(plain.removed_by, "")
        self.assertIn("does not reach its rate", throttled.removed_by)
        self.assertEqual(throttled.scenario["traffic"][0]["lanes"]["count"], 440)
        self.assertEqual(quantized.scenario, {})
        # 6 full blocks of 16 tokens are found, 4 tokens are not; without chunking nothing is.
        self.assertEqual(cached.scenario["traffic"][0]["program"]["shared_prefix"]["tokens"], "96 tok")
        self.assertEqual(plain.scenario["serving"]["version"], "2025-12")

    def test_recorded_requests_give_means_and_the_throughput_from_first_request_to_last_token(self):
        first = {"input_toks": 9, "output_toks": 3, "queued_ts": 1.0, "first_token_ts": 1.5, "last_token_ts": 2.5}
        second = {"input_toks": 9, "output_toks": 5, "queued_ts": 2.0, "first_token_ts": 3.0, "last_token_ts": 5.0}
        found = llmservingsim.measured([first, second])
        self.assertEqual(found, {"ttft": 0.75, "tpot": 0.5, "latency": 2.25, "throughput": 2.0})

    def recorded(self, name, **changes):
        """A recorded run of one request under `vllm_run.NAME`."""
        folder = self.data / "llmservingsim"
        folder.mkdir(exist_ok=True)
        engine = {"model": "Qwen/Qwen3-30B-A3B-Instruct-2507", "tensor_parallel_size": 1, "data_parallel_size": 2, "enable_expert_parallel": True}
        engine |= {"max_num_seqs": 8, "max_num_batched_tokens": 2048, "dtype": "bfloat16", "kv_cache_dtype": "auto"} | changes
        meta = {"vllm_version": "0.19.0", "engine_kwargs": engine, "dataset_path": "w/one.jsonl"}
        server = {"link_bw": 16, "link_latency": 20000, "nodes": [{"instances": [{"npu_mem": {"mem_bw": 1500}}]}]}
        (folder / f"vllm_run.{name}.meta.json").write_text(json.dumps(meta))
        (folder / f"vllm_run.{name}.config.json").write_text(json.dumps(server))
        with gzip.open(folder / f"vllm_run.{name}.requests.jsonl.gz", "wt") as file:
            file.write(json.dumps({"input_toks": 40, "output_toks": 3, "queued_ts": 1.0, "first_token_ts": 1.5, "last_token_ts": 2.5}) + "\n")
        with gzip.open(folder / "workload.one.jsonl.gz", "wt") as file:
            file.write(json.dumps({"input_toks": 40, "output_toks": 3, "arrival_time_ns": 0, "block16_ranges": [[1, 2]]}) + "\n")

    def test_recorded_runs_have_the_ranks_of_their_engine(self):
        self.recorded("RTXPRO6000.B")
        self.recorded("RTXPRO6000.C", data_parallel_size=1, tensor_parallel_size=2, enable_expert_parallel=False)
        self.recorded("RTXPRO6000.D", model="acme/Unheard-7B")
        self.recorded("X100.E")
        groups, ranks, model, device = self.answer(llmservingsim)
        self.assertEqual(groups.scenario["cluster"]["pools"], [{"name": "main", "replicas": 1, "tensor": 1, "data": 2, "expert_ranks": 2}])
        self.assertEqual(ranks.scenario["cluster"]["pools"], [{"name": "main", "replicas": 1, "tensor": 2, "data": 1}])
        device_of = ranks.scenario["cluster"]["node"]["device"]
        two = next(row for row in device_of["calibration"]["costs"]["all_reduce"] if row["ranks"] == 2)
        # As the server is described: 16 GB/s are less than what was fitted, and two hops of 20 us more.
        self.assertEqual((device_of["memory"]["bandwidth"], two["bus"], two["floor"]), ("1500 GB/s", "16 GB/s", "40 us"))
        self.assertEqual((model.removed_by, device.removed_by), ("a model that is not in the catalogue", "a device that is not in the catalogue"))

    def test_steady_decode_fills_the_batch_limit(self):
        row = {"task": "lm-arena-chat", "model": "Qwen/Qwen3-8B", "weight_precision": "bfloat16", "gpu": "H100", "num_gpus": 1, "ep": 1, "dp": 1}
        row |= {"max_num_seqs": 4, "avg_output_len": 50, "avg_batch_size": 3.9, "median_itl_ms": 8}
        write(self.data / "ml-energy" / "llm_runs.csv", [row, row | {"avg_batch_size": 3}, row | {"task": "image-chat"}, row | {"model": "x/Unheard-of"}])
        steady, hungry, image, unknown = self.answer(ml_energy)
        self.assertIn("not reached", hungry.removed_by)
        self.assertEqual(steady.scenario["traffic"][0]["lanes"]["count"], 4)
        self.assertIn("images", image.removed_by)
        self.assertIn("catalogue", unknown.removed_by)

    def test_described_experiments_are_replayed_by_stage_and_give_their_pool(self):
        row = {"exp_id": 7, "name": "7-yi", "model": "01-ai/Yi-34B", "workload": "general", "tp": 2, "precision": "FP16", "stage": 0}
        row |= {"ttft_mean_ms": 50, "itl_mean_ms": 15, "e2e_mean_ms": 700}
        write(self.data / "blis-ground-truth" / "vllm_measured.csv", [row, row | {"stage": -1}, row | {"exp_id": 8}])
        prefix = {"num_unique_system_prompts": 2, "num_users_per_system_prompt": 2, "output_len": 40, "question_len": 60, "system_prompt_len": 20}
        spec = {"model": "01-ai/Yi-34B", "hardware": "H100", "tp": 2, "max_num_seqs": 16, "max_num_batched_tokens": 2048, "total_kv_blocks": 1000}
        spec["workload"] = {"inference_perf": {"shared_prefix": prefix, "stages": [{"rate": 2, "duration": 5}]}}
        (self.data / "blis-ground-truth" / "workload_specs.json").write_text(json.dumps({"7": spec}))
        stage, together, undescribed, pool = self.answer(blis)
        self.assertEqual(stage.scenario["traffic"][0]["sessions"], 10)
        self.assertEqual(stage.scenario["kv"], {"blocks": 1000})
        self.assertIn("all stages", together.removed_by)
        self.assertIn("not stated", undescribed.removed_by)
        self.assertEqual(pool.measured, {"kv_tokens": 16000})
        self.assertGreater(pool.predicted["kv_tokens"], 16000)

    def test_equal_replicas_are_replayed_and_split_pools_are_not(self):
        self.assertEqual(llmd_prism.layout("4 TP2"), (4, 2))
        self.assertIsNone(llmd_prism.layout("2: 1P-TP8 1D-TP8"))
        row = {"model": "Llama-3.1-70B", "hardware": "H100", "architecture": "aggregated", "configuration": "3 TP4", "backend": "vllm"}
        row |= {"input_tokens": 100, "output_tokens": 10, "concurrency": 6, "request_rate": 9, "ttft_mean_ms": 50, "tpot_ms": 20, "latency_mean_ms": 230}
        row |= {"run_date": "20250914"}
        write(self.data / "llm-d-prism" / "llmd_runs.csv", [row, row | {"architecture": "disaggregated", "configuration": "2: 1P-TP8 1D-TP8"}])
        replicas, split = self.answer(llmd_prism)
        self.assertEqual(replicas.scenario["cluster"]["nodes"], 2)  # two replicas of four on a node of eight
        self.assertEqual(replicas.measured["throughput"], 90)
        self.assertIn("separate pools", split.removed_by)

    def test_single_steps_of_a_device_that_is_carried_over(self):
        folder = self.data / "aisimulate-evidence"
        facts = {"hbm_capacity_reported": 299, "hbm_bandwidth_at_max_clock": 16000, "bf16_dense": 4000, "fp8_dense": 17500, "fp4_dense": 35000}
        facts |= {"nvlink_total_per_direction": 1800}
        write(folder / "vera_rubin_facts.csv", [{"quantity": name, "value": value} for name, value in facts.items()])
        step = {"phase": "prefill", "batch": 1, "new_tokens_per_seq": 1024, "past_tokens_per_seq": 0, "native_ms": 40}
        decode = {"phase": "decode", "batch": 4, "new_tokens_per_seq": 1, "past_tokens_per_seq": 1024, "native_ms": 8}
        write(folder / "vera_rubin_glm52_steps.csv", [step, step | {"past_tokens_per_seq": 8192}, step | {"batch": 2, "past_tokens_per_seq": 1024}, decode])
        write(folder / "e2e_parity.csv", [{"configuration": "Kimi-K2.5 B200 DP8 c512", "metric": "tpot_mean", "native": 90}])
        alone, cached, several, decoding, run = self.answer(aisimulate)
        self.assertEqual((alone.scenario["serving"]["batch_tokens"], list(alone.measured), list(decoding.measured)), ("1024 tok", ["ttft"], ["itl"]))
        # The prefix is found: a step over all 9,216 tokens would take several times as long.
        self.assertLess(cached.predicted["ttft"], 2 * alone.predicted["ttft"])
        self.assertIn("batch of prompts", several.removed_by)
        self.assertIn("data-parallel", run.removed_by)
        # Twice the links of a GB300 carry twice its bytes.
        of_gb300 = aisimulate.catalogue.load("hardware/devices", "gb300")
        made = aisimulate.device(facts)
        rows = [(device.get("costs") or {}).get("all_reduce") or device["calibration"]["costs"]["all_reduce"] for device in (made,)]
        self.assertEqual(made["memory"]["bandwidth"], "16000.0 GB/s")
        if "all_reduce" in of_gb300["costs"]:
            before = aisimulate.catalogue.number(of_gb300["costs"]["all_reduce"][0]["bus"], {"GB/s": 1})
            self.assertAlmostEqual(aisimulate.catalogue.number(rows[0][0]["bus"], {"GB/s": 1}) / before, 2)

    def test_published_arms_are_replayed_only_where_they_are_described_and_simulated(self):
        for (name, arm), words in {
            ("ld-p2p-pull-gptoss", "recompute"): "",
            ("ld-p2p-pull-gptoss", "p2p_pull"): "from a peer",
            ("ld-pool-gptoss", "affinity"): "",
            ("ld-p2p-pull-glm52", "recompute"): "data-parallel",
            ("mk-ssd-a100", "l2"): "another engine",
            ("ld-ceph-4srv", "hbm"): "KV tiers",
            ("new-case", "x"): "not described",
        }.items():
            with self.subTest(name):
                self.assertIn(words, published_e2e.why_not(name, arm))
                if not words:
                    self.assertEqual(published_e2e.why_not(name, arm), "")
        folder = self.data / "published-e2e"
        row = {"case_id": "ld-p2p-pull-gptoss", "arm": "recompute", "x_value": 2048, "metric": "prefill_latency", "unit": "ms", "value": 70}
        pool = {"case_id": "ld-pool-gptoss", "arm": "affinity", "x_value": 6, "metric": "achieved_rps", "unit": "1/s", "value": 6}
        write(folder / "results_long.csv", [row, pool, pool | {"metric": "latency_p50", "unit": "s", "value": 0.5}])
        (folder / "cases.json").write_text("[]")
        one, shared, memory = self.answer(published_e2e)
        self.assertEqual((one.measured, shared.measured), ({"ttft": 0.07}, {"throughput": 384, "latency": 0.5}))

    def test_a_submission_on_several_devices_states_no_layout(self):
        row = {"system_id": "1", "benchmark": "llama3.1-8b", "scenario": "Server", "accelerator": "Anything", "num_accelerators_per_node": 1, "nodes": 1}
        row |= {"software": "vLLM 0.10.0, x", "weight_dtype": "fp8"}
        for changes, words in (
            ({"software": "TensorRT 10.11, CUDA 12.9"}, "another engine"),
            ({"benchmark": "mixtral-8x7b"}, "catalogue"),
            ({"num_accelerators_per_node": 8}, "layout"),
            ({}, "a device"),
        ):
            with self.subTest(changes):
                self.assertIn(words, mlperf.why_not(row | changes, self.data))

    def test_a_version_decides_the_scheduler(self):
        self.assertEqual(settings.vllm("0.11.0")["version"], "2025-12")
        self.assertEqual(settings.vllm(date="2025-09-13")["version"], "2025-12")
        self.assertNotIn("version", settings.vllm("0.19.0"))
        self.assertEqual(settings.vllm("0.19.0")["host"], "vllm-0.19.0")


if __name__ == "__main__":
    unittest.main()
