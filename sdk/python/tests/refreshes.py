"""One of several processes that share a sign-in whose token has ended: refreshes.py URL FILE"""

import sys

from namewharf import FileStore, Namewharf

nw = Namewharf(sys.argv[1])
nw.sign_in(store=FileStore(sys.argv[2]), open_browser=lambda _: sys.exit("a browser was opened"))
print(nw.search("brewhaven.com", tlds=["com"])["prices_masked"])
