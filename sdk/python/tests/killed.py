"""A program that is killed after the service has renewed its sign-in and before the new tokens are stored: killed.py URL FILE"""

import os
import signal
import sys

from namewharf import FileStore, Namewharf


class Store(FileStore):
    def save(self, value):
        os.kill(os.getpid(), signal.SIGKILL)


nw = Namewharf(sys.argv[1])
nw.sign_in(store=Store(sys.argv[2]), open_browser=lambda _: sys.exit("a browser was opened"))
nw.search("brewhaven.com")
print("not killed")
