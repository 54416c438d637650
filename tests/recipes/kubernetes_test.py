# SPDX-License-Identifier: Apache-2.0
"""kubernetes_test.py PROGRAM ROOT: the manifests of docs/recipes/kubernetes/ are such as Kubernetes takes, tell no
secret in arguments, and their containers' commands do their work together, here without containers and on CPU threads.
Exit code 77 where the Python packages are missing."""

import pathlib
import re
import signal
import subprocess
import sys
import unittest

try:
    import kubernetes_validate
    import yaml
except ImportError as missing:
    print(f"NOT RUN: {missing}; scripts/python.sh --install recipes")
    sys.exit(77)

from recipe import own_queue, python_environment

PROGRAM, ROOT = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
FOLDER = ROOT / "docs/recipes/kubernetes"
MANIFESTS = {file.name: list(yaml.safe_load_all(file.read_text("utf-8"))) for file in sorted(FOLDER.glob("*.yaml"))}
VERSIONS = ("1.34", "1.37")  # the first with resource.k8s.io/v1, and the newest that the package knows
SHORT = "mlp:epochs=1,hidden=32"
ENDLESS = "mlp:epochs=100000,hidden=64"


def pod_of(name):
    workload = next(each for each in MANIFESTS[name] if each["kind"] in ("Deployment", "Job"))
    return workload["spec"]["template"]["spec"]


def containers_of(name):
    pod = pod_of(name)
    return {each["name"]: each for each in [*pod.get("initContainers", []), *pod["containers"]]}


class manifests(unittest.TestCase):
    def test_kubernetes_takes_them(self):
        resources = [each for name in ("agents.yaml", "training.yaml") for each in MANIFESTS[name]]
        for resource in resources:
            for version in VERSIONS:
                with self.subTest(kind=resource["kind"], version=version):
                    self.assertEqual(kubernetes_validate.validate(resource, version, strict=True), version)
        self.assertEqual(len(resources), 4)

    def test_no_secret_is_in_arguments(self):
        for name in MANIFESTS:
            agent = containers_of(name)["agent"]
            secret = {each["name"] for each in agent["env"] if "secretKeyRef" in each.get("valueFrom", {})}
            self.assertEqual(secret, {"LULL_QUEUE", "PGPASSWORD"})
            self.assertFalse(any(re.search("QUEUE|PASS|postgres|--queue", word) for word in agent["command"]))

    def test_the_user_has_time_to_save_and_is_the_same_everywhere(self):
        for name in MANIFESTS:
            self.assertGreater(pod_of(name)["terminationGracePeriodSeconds"], 60)
            self.assertTrue(pod_of(name)["shareProcessNamespace"])
        self.assertEqual(*(pod_of(name)["securityContext"]["runAsUser"] for name in MANIFESTS))

    def test_what_is_mounted_is_a_volume(self):
        for name in MANIFESTS:
            volumes = {each["name"] for each in pod_of(name)["volumes"]}
            for container in containers_of(name).values():
                for mount in container["volumeMounts"]:
                    self.assertIn(mount["name"], volumes)


class containers(unittest.TestCase):
    """Their commands, with a volume at a folder of the test's instead of its mount."""

    def setUp(self):
        self.queue = self.enterContext(own_queue(PROGRAM))
        self.volume = self.queue.folder / "volume"
        self.volume.mkdir()
        self.volume.chmod(0o777)  # as emptyDir is

    def begin(self, name, container):
        asked = containers_of(name)[container]
        environment = {**self.queue.environment, **python_environment(ROOT)}
        secret = {"LULL_QUEUE": environment.pop("LULL_QUEUE"), "PGPASSWORD": "unused"}
        for each in asked.get("env", []):
            value = secret[each["name"]] if "valueFrom" in each else each["value"]
            environment[each["name"]] = value.replace("/run/lull", str(self.volume))
        command = [re.sub(r"\$\((\w+)\)", lambda found: environment[found[1]], word) for word in asked["command"]]
        process = subprocess.Popen(command, env=environment, cwd=ROOT / "docs/recipes", stdin=subprocess.DEVNULL)
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process, by=signal.SIGKILL):
        if process.poll() is None:
            process.send_signal(by)
        return process.wait(60)

    def test_an_agent_of_the_deployment_does_jobs_and_saves_them_when_it_is_evicted(self):
        jobs = [self.queue.submit(task) for task in (SHORT, ENDLESS)]
        agent = self.begin("agents.yaml", "agent")
        self.queue.await_state(jobs[0], "done")
        self.queue.await_state(jobs[1], "running")
        shown = pathlib.Path(f"/proc/{agent.pid}/cmdline").read_text("utf-8")
        self.assertNotIn("spool:", shown, "the address of the queue")
        self.assertEqual(self.end(agent, signal.SIGTERM), 130)
        self.queue.await_state(jobs[1], "saved")

    def test_the_sidecar_works_in_the_trainers_bubbles_and_ends_after_it(self):
        job = self.queue.submit(SHORT)
        self.assertEqual(self.end(self.begin("training.yaml", "sockets"), 0), 0)
        self.assertEqual((self.volume / "sockets").stat().st_mode & 0o777, 0o700)
        agent = self.begin("training.yaml", "agent")
        trainer = self.begin("training.yaml", "trainer")
        self.queue.await_state(job, "done")
        self.assertIn("lull work", self.queue.ask("logs", job))
        self.assertEqual(self.end(trainer, signal.SIGTERM), -signal.SIGTERM, "it trains until it is told")
        self.assertEqual(self.end(agent, signal.SIGTERM), 130)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
