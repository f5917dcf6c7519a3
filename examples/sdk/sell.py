#!/usr/bin/env python3
"""Sells a name as a partner: python3 sell.py WORDS REFERENCE

It finds a name for the words, locks its price, records the sale under your payment reference and shows its events. A second
run with the same reference sells nothing again. NAMEWHARF_BASE_URL, NAMEWHARF_KEY_ID and NAMEWHARF_PARTNER_SECRET are read from
the environment. Python 3.9 or later, after pip install namewharf.
"""

import os
import sys

from namewharf import NamewharfError, Partner


def sell(partner, words, reference):
    found = partner.search_domains(words)["results"]
    if not found:
        sys.exit("no name for sale fits")
    quote = partner.create_quote(found[0]["domain"])
    print(f"{quote['domain']} costs {quote['price_cents'] / 100:.2f} {quote['currency']} until {quote['expires_at']}")
    # Charge your buyer here, then record the sale.
    return partner.create_order(quote_id=quote["quote_id"], external_payment_ref=reference, idempotency_key=reference)


def main(words, reference):
    with Partner(key_id=os.environ.get("NAMEWHARF_KEY_ID", ""), secret=os.environ.get("NAMEWHARF_PARTNER_SECRET", "")) as partner:
        sold = (order for order in partner.orders() if order.get("external_payment_ref") == reference)
        order = next(sold, None) or sell(partner, words, reference)
        print(f"{order['public_id']}  {order['domain']}  {order['status']}")
        for event in partner.events():
            if (event["data"].get("order") or {}).get("public_id") == order["public_id"]:
                print(f"{event['created_at']}  {event['type']}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python3 sell.py WORDS REFERENCE")
    try:
        main(*sys.argv[1:])
    except NamewharfError as error:
        sys.exit(error.message + (f"\n{error.hint}" if error.hint else ""))
