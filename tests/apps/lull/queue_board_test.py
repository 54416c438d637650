# SPDX-License-Identifier: Apache-2.0
"""queue_board_test.py PROGRAM ROOT: the Grafana board and the alert rules ask for what `lull queue metrics` writes.

Prometheus scrapes the file that the program keeps up to date, and every query of the board returns data. promtool looks
at the format, and fires each alert. Where there is no prometheus, this is not run: exits with 77."""

import contextlib
import functools
import http.server
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

LIMIT_S = 120  # against hangs
METRIC = re.compile(r"\blull_queue_\w+")


def run(*command, **more):
    return subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True, timeout=LIMIT_S, **more)


def within_time(what, look):
    until = time.monotonic() + LIMIT_S
    while not (found := look()):
        assert time.monotonic() < until, f"waited in vain for {what}"
        time.sleep(0.05)
    return found


@contextlib.contextmanager
def beside(*command, **more):
    """A program that is ended with the block."""
    process = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, **more)
    try:
        yield process
    finally:
        process.kill()
        process.wait(LIMIT_S)


@contextlib.contextmanager
def served(folder):
    """The address at which a folder's files are served."""

    class quiet(http.server.SimpleHTTPRequestHandler):
        extensions_map = {".prom": "text/plain; version=0.0.4"}

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(quiet, directory=folder)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()


def make_queue(program, folder):
    """One job that is done, one that failed, and one that waits for ever."""
    queue = f"spool:{folder}/spool"
    run(program, "queue", "init", "--lease", "2s", "--queue", queue)
    for name, script in (("good", "true"), ("bad", "exit 1")):
        job = {"schema": "lull.job/1", "user": name, "attempts": 1, "run": {"command": ["sh", "-c", script]}}
        (folder / f"{name}.json").write_text(json.dumps(job), encoding="utf-8")
        run(program, "submit", "--queue", queue, folder / f"{name}.json", cwd=folder)
    agent = (program, "agent", "--queue", queue, "--executor", "threads", "--until-empty", "--log", "json")
    run(*agent, "--allow-commands", cwd=folder)
    run(program, "submit", "--queue", queue, folder / "good.json", cwd=folder)
    return queue


def expressions(board):
    for panel in board["panels"]:
        for target in panel["targets"]:
            yield panel["title"], target["expr"]


def check_names(board, rules, chapter, text):
    """Only what is written is asked for; the chapter's table has all of it, and no more."""
    written = set(re.findall(r"^# TYPE (\w+) gauge$", text, re.M))
    asked = set(METRIC.findall(json.dumps(board)) + METRIC.findall(rules.replace("name: lull_queue", "")))
    assert written and asked <= written, f"no such metrics: {asked - written}"
    in_table = set(re.findall(r"^\| `(lull_queue_\w+)", chapter, re.M))
    assert in_table == written, f"docs/11-the-queue.md has {in_table ^ written} wrong"


def check_alerts(rules, folder):
    """Each alert is quiet for a queue that is well, and fires for one that is not."""

    def state(name, well, **values):
        series = {
            'lull_queue_jobs{queue="q",state="queued",user="ann"}': "2x90",
            'lull_queue_agents{queue="q",state="alive"}': "1x90",
            'lull_queue_oldest_waiting_seconds{queue="q"}': "60x90",
            'lull_queue_lost_leases{queue="q",user="ann"}': "0x90",
            'lull_queue_metrics_timestamp_seconds{queue="q"}': "0+60x90",
        }
        series.update({next(key for key in series if key.startswith(part)): value for part, value in values.items()})
        return {
            "interval": "1m",
            "input_series": [{"series": key, "values": value} for key, value in series.items()],
            "promql_expr_test": [
                {
                    "expr": 'count by (alertname) (ALERTS{alertstate="firing"})',
                    "eval_time": "80m",
                    "exp_samples": [] if well else [{"labels": f'{{alertname="{name}"}}', "value": 1}],
                }
            ],
        }

    tests = [
        state("", True),
        state("", True, lull_queue_agents="0x90", lull_queue_jobs="0x90"),
        state("LullNoAgentAlive", False, lull_queue_agents="0x90"),
        state("LullOldestJobWaitsTooLong", False, lull_queue_oldest="30000x90"),
        state("LullLeasesLost", False, lull_queue_lost="0+1x90"),
        state("LullMetricsOld", False, lull_queue_metrics="0+60x60 3600x30"),
    ]
    alerts = set(re.findall(r"alert: (\w+)", rules.read_text(encoding="utf-8")))
    tried = {each["promql_expr_test"][0]["exp_samples"][0]["labels"][12:-2] for each in tests[2:]}
    assert alerts == tried, f"not tried: {alerts ^ tried}"
    file = folder / "rules_test.yml"
    file.write_text(
        json.dumps({"rule_files": [str(rules)], "evaluation_interval": "1m", "tests": tests}), encoding="utf-8"
    )
    done = subprocess.run(
        ["promtool", "test", "rules", file], capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return len(tests)


def check_board(board, rules, folder, target):
    configuration = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(rules)],
        "scrape_configs": [
            {"job_name": "node", "metrics_path": "/queue.prom", "static_configs": [{"targets": [target]}]}
        ],
    }
    (folder / "prometheus.yml").write_text(json.dumps(configuration), encoding="utf-8")
    log = folder / "prometheus.log"
    command = ["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/tsdb"]
    with log.open("w") as to, beside(*command, "--web.listen-address=127.0.0.1:0", stdout=to, stderr=to) as process:

        def address():
            assert process.poll() is None, log.read_text(encoding="utf-8")
            said = log.read_text(encoding="utf-8")
            if "ready to receive web requests" in said:
                return re.search(r'msg="Listening on" address=(\S+)', said).group(1)
            return None

        base = f"http://{within_time('prometheus', address)}/api/v1/"

        def ask(what, **values):
            url = f"{base}{what}?{urllib.parse.urlencode(values)}"
            with urllib.request.urlopen(url, timeout=LIMIT_S) as answer:
                return json.load(answer)["data"]

        assert not ask("query", query="lull_queue_no_such")["result"]
        asked = 0
        for title, expression in expressions(board):
            query = expression.replace("$queue", ".*").replace("$__rate_interval", "1m")
            within_time(f"data of {title}: {query}", lambda query=query: ask("query", query=query)["result"])
            asked += 1
        for each in board["templating"]["list"]:
            if found := re.fullmatch(r"label_values\((\w+), (\w+)\)", each["query"]):
                assert ask(f"label/{found.group(2)}/values", **{"match[]": found.group(1)}), each
                asked += 1
        loaded = [rule["name"] for group in ask("rules")["groups"] for rule in group["rules"]]
        assert "LullNoAgentAlive" in loaded, loaded
    return asked


def main(program, root):
    program, root = pathlib.Path(program).resolve(), pathlib.Path(root).resolve()
    board = json.loads((root / "data/grafana/queue.json").read_text(encoding="utf-8"))
    rules = root / "data/prometheus/queue_rules.yml"
    chapter = (root / "docs/11-the-queue.md").read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        queue = make_queue(program, folder)
        metrics = (program, "queue", "metrics", "--queue", queue)
        text = run(*metrics).stdout
        check_names(board, rules.read_text(encoding="utf-8"), chapter, text)
        if not shutil.which("prometheus") or not shutil.which("promtool"):
            print("NOT RUN: there is no prometheus here (Debian's package prometheus has it); the names are right")
            sys.exit(77)
        checked = subprocess.run(
            ["promtool", "check", "metrics"], input=text, capture_output=True, text=True, timeout=LIMIT_S, check=False
        )
        assert checked.returncode == 0 and not checked.stderr, checked.stdout + checked.stderr
        run("promtool", "check", "rules", rules)
        cases = check_alerts(rules, folder)
        with served(folder) as target, beside(*metrics, "--every", "1s", "--out", folder / "queue.prom"):
            asked = check_board(board, rules, folder, target)
        print(f"{asked} queries of the board have data; {cases} states of a queue fire the right alerts")


if __name__ == "__main__":
    main(*sys.argv[1:])
