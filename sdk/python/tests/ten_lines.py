"""What a new user writes first, run in a clean directory with the built server's demo."""

from support import Demo

demo = Demo()

from namewharf import Namewharf  # noqa: E402

with Namewharf(demo.url) as nw:
    print(nw.price("com", "renew")["priceCents"])
    for r in nw.check(["cobaltpine.com", "quietmeadow.com"]):
        print(r["domain"], r["status"])
    for listing in nw.listings(q="coffee", limit=5):
        print(listing["domain"])
    with nw.batching() as b:
        whois, tld = b.whois("cobaltpine.com"), b.tld("us")
    print(whois.result()["registered"], tld.result()["tld"])
