"""What the SDK costs beside http.client, side by side in one run: SERVER=…/publicapi PYTHONPATH=…/src python3 speed.py

CPU is of this process alone. Every figure is the median of several interleaved runs.
"""

import asyncio
import compileall
import http.client
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from statistics import median
from urllib.parse import urlsplit

from namewharf import AsyncNamewharf, Namewharf

from support import demo

RUNS = 7
CALLS = 1000
url = demo().url
address = urlsplit(url).netloc


def measured(run):
    cpu, began = time.process_time(), time.perf_counter()
    run()
    return (time.perf_counter() - began) * 1000, (time.process_time() - cpu) * 1000


def compare(title, **runs):
    """Milliseconds and milliseconds of CPU of each."""
    seen = {name: [] for name in runs}
    for run in runs.values():
        run()  # once unmeasured
    for _ in range(RUNS):
        for name, run in runs.items():
            seen[name].append(measured(run))
    print(title)
    found = {name: (median(ms for ms, _ in all), median(cpu for _, cpu in all)) for name, all in seen.items()}
    for name, (ms, cpu) in found.items():
        print(f"  {name:<14} {ms:6.0f} ms, {cpu:6.0f} ms CPU")
    return found


def sends(method, target, body=None, connection=None):
    connection = connection or http.client.HTTPConnection(address)
    connection.request(method, target, None if body is None else json.dumps(body), {"Content-Type": "application/json"} if body is not None else {})
    return json.loads(connection.getresponse().read())


nw = Namewharf(url)
shared = http.client.HTTPConnection(address)


def raw():
    for _ in range(CALLS):
        sends("GET", "/api/pricing/tld?tld=com", connection=shared)


def sdk():
    for _ in range(CALLS):
        nw.price("com")


found = compare(f"{CALLS} calls, one after the other", http_client=raw, sdk=sdk)
print("  overhead {:.1f} % CPU, {:.1f} % time".format(*((found["sdk"][at] / found["http_client"][at] - 1) * 100 for at in (1, 0))))

names = [f"name-{at % 500}.com" for at in range(CALLS)]
batches = [names[at : at + 20] for at in range(0, CALLS, 20)]


def operations(part):
    return {"operations": [{"id": str(at), "op": "whois_lookup", "params": {"domain": name}} for at, name in enumerate(part)]}


def single():
    for name in names:
        nw.whois(name)


def raw_single():
    for name in names:
        sends("POST", "/api/tools/whois", {"domain": name}, shared)


def batching():
    with nw.batching() as b:
        found = [b.whois(name) for name in names]
    return [one.result() for one in found]


def by_hand():
    return [result for part in batches for result in sends("POST", "/api/batch", operations(part), shared)["results"]]


def gathered():
    async def main():
        async with AsyncNamewharf(url) as anw:
            return await asyncio.gather(*(anw.whois(name) for name in names))

    return asyncio.run(main())


def by_hand_8():
    connections = [http.client.HTTPConnection(address) for _ in range(8)]

    def some(at):
        return [sends("POST", "/api/batch", operations(part), connections[at]) for part in batches[at::8]]

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(some, range(8)))
    for connection in connections:
        connection.close()


found = compare(f"{CALLS} look-ups", http_client=raw_single, sdk=single, batching=batching, by_hand=by_hand, asyncio=gathered, by_hand_8=by_hand_8)
for name, beside in (("batching", "by_hand"), ("asyncio", "by_hand_8")):
    faster = ", ".join(f"{found[one][0] / found[name][0]:.1f} times as fast as single calls by {one}" for one in ("http_client", "sdk"))
    print(f"  {name}: {faster}, {(found[name][0] / found[beside][0] - 1) * 100:.1f} % slower than {beside}")

import namewharf  # noqa: E402

compileall.compile_dir(os.path.dirname(namewharf.__file__), quiet=1)  # as pip does
for what in ("import json, http.client", "import namewharf", "from namewharf import Namewharf", "from namewharf import AsyncNamewharf", "from namewharf import Partner"):
    script = f"import time; c, t = time.process_time(), time.perf_counter(); {what}; print(time.perf_counter() - t, time.process_time() - c)"
    environment = {**os.environ, "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    all = [tuple(float(n) * 1000 for n in subprocess.run([sys.executable, "-c", script], env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout.split()) for _ in range(15)]
    print(f"{what}: {median(ms for ms, _ in all):.1f} ms, {median(cpu for _, cpu in all):.1f} ms CPU, best {min(all)[0]:.1f} ms")
