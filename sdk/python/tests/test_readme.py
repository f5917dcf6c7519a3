"""Every example of README.md, and the programs of examples/sdk, run as programs against the demo."""

import base64
import hashlib
import hmac
import inspect
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import unittest

import namewharf

from support import Demo, here, repository, send, server

HOOK = "a secret of sixteen or more"
# The person's browser: it signs in and allows what is asked.
BROWSER = f"""#!{sys.executable}
import sys
sys.path.insert(0, {here!r})
from support import Person
Person(sys.argv[1], sys.argv[2]).allow(sys.argv[3])
"""


def operator(*arguments):
    return subprocess.run([os.path.join(os.path.dirname(server), "operator"), *arguments], check=True, stdout=subprocess.PIPE).stdout


class Examples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        with open(os.path.join(here, "../README.md"), encoding="utf-8") as file:
            cls.blocks = re.findall(r"<!-- run -->\n```python\n(.*?)```", file.read(), re.S)
        demo = Demo("-rate-limits", "off")  # of its own: the examples sell names
        # Referral needs a partner that is linked to an account, which is the operator's to do.
        (partner,) = json.loads(operator("partner", "list", "-json", "-data", demo.data))
        operator("partner", "affiliate", "-partner", partner["partner_id"], "-email", demo.email, "-data", demo.data)
        # There is a statement once a month with a transferred name is settled.
        with namewharf.Partner(demo.url, demo.key_id, demo.secret) as seller:
            sold = seller.create_order(quote_id=seller.create_quote("amberbay.example")["quote_id"])
            for _ in ("started", "completed"):
                seller.play_order(sold["public_id"], "advance")
        month = time.strftime("%Y-%m", time.gmtime())
        operator("settlement", "run", "-period", month, "-env", "sandbox", "-partner", partner["partner_id"], "-force", "-data", demo.data)
        browser = cls.file("browser", BROWSER)
        os.chmod(browser, 0o755)
        cls.environment = {
            **os.environ, "BROWSER": f"{browser} {demo.email} {demo.password} %s", "XDG_CONFIG_HOME": cls.folder, "PORT": "0", "PYTHONWARNINGS": "error",
            "NAMEWHARF_BASE_URL": demo.url, "NAMEWHARF_KEY_ID": demo.key_id, "NAMEWHARF_PARTNER_SECRET": demo.secret, "NAMEWHARF_WEBHOOK_SECRET": HOOK,
        }  # fmt: skip
        cls.file("names.csv", "brewhaven.com,1\ncobaltpine.com,2\n")

    @classmethod
    def file(cls, name, text):
        path = os.path.join(cls.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def start(self, *arguments):
        return subprocess.Popen([sys.executable, *arguments], cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def ended(self, *arguments):
        program = self.start(*arguments)
        out, errors = program.communicate(timeout=60)
        self.assertEqual(program.returncode, 0, errors)
        return out, errors

    def example(self, name, *arguments):
        return self.ended(os.path.join(repository, "examples/sdk", name), *arguments)

    def test_readme(self):
        self.assertGreaterEqual(len(self.blocks), 10)
        for at, block in enumerate(self.blocks):
            with self.subTest(at, begins=block[:60]):
                if "serve_forever" in block:
                    self.takes_webhooks(block)
                    continue
                out, errors = self.ended(self.file("example.py", block))
                self.assertEqual(errors, "")
                self.assertEqual(bool(out), "print(" in block)
                if "partner.settlements(" in block:
                    self.assertRegex(out, "(?m)^12665 1$", "the statement of 149.00 USD less 15 %")
        with open(os.path.join(self.folder, "checked.csv")) as file:
            self.assertEqual(file.read(), "brewhaven.com,registered\ncobaltpine.com,registered\n")

    def takes_webhooks(self, block):
        block = block.replace("server.serve_forever()", "print(server.server_address[1], flush=True)\nserver.serve_forever()")
        program = self.start(self.file("webhooks.py", block))
        try:
            url = f"http://127.0.0.1:{int(program.stdout.readline())}"
            body, at = b'{"id":"evt_1","type":"order.recorded"}', str(int(time.time()))
            signed = hmac.new(HOOK.encode(), f"evt_1.{at}.".encode() + body, hashlib.sha256).digest()
            headers = {
                "x-service-signature": hmac.new(HOOK.encode(), body, hashlib.sha256).hexdigest(), "webhook-id": "evt_1", "webhook-timestamp": at,
                "webhook-signature": f"v1,{base64.b64encode(signed).decode()}",
            }  # fmt: skip
            self.assertEqual(send(url, "POST", "/", headers, body + b" ")[0], 401)
            self.assertEqual(send(url, "POST", "/", headers, body)[0], 200)
            self.assertEqual(program.stdout.readline(), "evt_1 order.recorded\n")
        finally:
            program.terminate()
            program.communicate(timeout=30)

    def test_a_list_of_names_from_a_file_becomes_csv(self):
        self.file("names.txt", 'brewhaven.com\n\ncobaltpine.com\r\n"x y"\n' + "".join(f"n{at}.com\n" for at in range(250)))
        _, errors = self.example("check.py", "names.txt", "out.csv")
        self.assertTrue(errors.endswith("] 253/253\n"), errors)
        with open(os.path.join(self.folder, "out.csv")) as file:
            rows = file.read().split("\n")
        self.assertEqual(rows[:3], ["domain,status,price_cents,currency,for_sale", "brewhaven.com,registered,,,yes", "cobaltpine.com,registered,,,no"])
        self.assertEqual(len(rows), 255)

    def test_a_partner_sells_a_name_once(self):
        sale, _ = self.example("sell.py", "brew mill", "payment-1")
        self.assertRegex(sale, r"^\S+ costs \d+\.\d\d USD until \S+\nord_\S+  \S+  EXTERNALLY_PAID\n\S+  order\.recorded\n$")
        self.assertEqual(self.example("sell.py", "brew mill", "payment-1")[0], sale[sale.index("ord_") :])

    def test_every_method_has_an_example(self):
        text = "".join(self.blocks)
        for kind, name in ((namewharf.Namewharf, "nw"), (namewharf.Partner, "partner")):
            for method, _ in inspect.getmembers(kind, callable):
                if not method.startswith("_"):
                    self.assertRegex(text, rf"\b({name}|{kind.__name__})\.{method}\(", f"README.md has no example of {method}")
        for name in namewharf.AsyncNamewharf.__name__, "session.sign_out(", "page.next(", ".result()", "next_cursor":
            self.assertIn(name, text)


if __name__ == "__main__":
    unittest.main()
