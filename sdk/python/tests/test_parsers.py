"""Whatever comes, parsers end with a value or with their own error. A seed makes a failure come again."""

import random
import unittest

from namewharf import NamewharfError, canonical_query
from namewharf._transport import EventLines, _date, _retry_after, described, failed, parse_base
from namewharf._wire import Broken, Response, TooLarge, Wire, exchange, run

ANSWERS = [
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 13\r\n\r\n" + b'{"tld":"com"}',
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n3\r\nyou\r\n0\r\nTrailer: x\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 404 Not Found\r\nConnection: keep-alive\r\nRetry-After: 5\r\n\r\nuntil the end",
    b"HTTP/1.1 204 No Content\r\nDate: Thu, 01 Jan 2026 12:00:00 GMT\r\n\r\n",
]
PIECES = [b"\r\n", b"\n", b"\r\n\r\n", b":", b"0", b"-1", b"9" * 30, b"\x00", b"\xff", b"chunked", b"Content-Length: 3\r\n", b"Content-Encoding: gzip\r\n", b" ", b";"]


class Pieces(Wire):
    """A connection that carries bytes in pieces of any size."""

    def __init__(self, data, chance):
        self.data, self.chance, self.deadline, self.origin, self.used = data, chance, None, "", False

    async def send(self, data):
        pass

    async def receive(self):
        size = self.chance.randrange(1, 40)
        piece, self.data = self.data[:size], self.data[size:]
        return piece

    def close(self):
        pass


def mutated(data, chance):
    data = bytearray(data)
    for _ in range(chance.randrange(4)):
        at = chance.randrange(len(data) + 1)
        if chance.random() < 0.5:
            data[at : at + chance.randrange(4)] = chance.choice(PIECES)
        else:
            del data[at : at + chance.randrange(1, 9)]
    return bytes(data)


async def read(data, chance):
    response = await exchange(Pieces(data, chance), b"", "GET")
    return response.status, await response.read()


class Parsers(unittest.TestCase):
    def test_answers(self):
        for seed in range(6000):
            chance = random.Random(seed)
            data = mutated(chance.choice(ANSWERS), chance)
            with self.subTest(seed=seed, data=data):
                try:
                    status, body = run(read(data, chance))
                except (Broken, TooLarge):
                    continue
                self.assertTrue(0 <= status <= 999 and isinstance(body, bytes))

    def test_answers_that_are_whole_are_read_in_any_pieces(self):
        want = [(200, b'{"tld":"com"}'), (200, b"helloyou"), (404, b"until the end"), (204, b"")]
        for seed in range(200):
            chance = random.Random(seed)
            self.assertEqual([run(read(data, chance)) for data in ANSWERS], want)

    def test_texts(self):
        texts = ["5", "Thu, 01 Jan 2026 12:00:00 GMT", "a=b&c=%20", 'data: {"a":1}\n\n', '{"error":{"code":"x","retry_after_s":1,"details":[]}}', "http://[::1]:8080/a"]
        characters = "%&=:/[]{}\",-+.0123456789\n\r \x00é\ud800\U0001f600JanGMT"
        for seed in range(6000):
            chance = random.Random(seed)
            text = list(chance.choice(texts))
            for _ in range(chance.randrange(4)):
                text.insert(chance.randrange(len(text) + 1), chance.choice(characters))
            text = "".join(text)
            with self.subTest(seed=seed, text=text):
                answer = Response(429, {"retry-after": text, "date": text}, None, b"", True, True)
                seconds = _retry_after(answer)
                self.assertTrue(seconds is None or seconds >= 0)
                _date(text)
                failed(answer, text.encode("utf-8", "surrogatepass"))
                described({"code": text, "details": text, "retry_after_s": text}, 400)
                EventLines().push(text.encode("utf-8", "surrogatepass"))
                for parse in (canonical_query, parse_base):
                    try:
                        parse(text)
                    except NamewharfError as error:
                        self.assertEqual(error.code, "validation_error")


if __name__ == "__main__":
    unittest.main()
