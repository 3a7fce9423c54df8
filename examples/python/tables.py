"""Join, group and sort tables.

    corankd &
    python examples/python/tables.py

A shop has orders and customers. Some orders name no customer, some customers no country. The example finds the ten
customers who spent most, with their countries, and what each country spent. Four operators do it:

- `join_by` finds the customer of each order; orders without one stay, with nulls;
- `group_by` adds up the orders of each customer and of each country;
- `top_k` finds the ten greatest sums, and `sort_by` puts the countries in order, the unknown one last.

Tables of pandas and polars work the same way. Needs pyarrow: pip install './client/python[tables]'.
"""

from __future__ import annotations

import corank
import numpy as np
import pyarrow as pa

CUSTOMERS, ORDERS = 20_000, 300_000
COUNTRIES = ["Norge", "Österreich", "Ελλάδα", "日本", "Perú", None]


def make_tables() -> tuple[pa.Table, pa.Table]:
    """The orders and the customers."""
    rng = np.random.default_rng(4)
    names = pa.array([f"customer {number:05d}" for number in range(CUSTOMERS)])
    countries = pa.array([COUNTRIES[at] for at in rng.integers(0, len(COUNTRIES), CUSTOMERS)])
    buyers = rng.integers(0, CUSTOMERS, ORDERS)
    orders = {
        "customer": names.take(pa.array(buyers, mask=rng.random(ORDERS) < 0.02)),
        "cents": pa.array(rng.integers(100, 100_000, ORDERS)),
    }
    return pa.table(orders), pa.table({"customer": names, "country": countries})


def main() -> None:
    """Finds who spent most, and checks every step against pyarrow or a plain sum."""
    orders, customers = make_tables()
    with corank.connect() as client:
        joined = client.join_by(orders, customers, "customer", how="left")
        spent = client.group_by(joined, "customer", drop_nulls=True).agg(
            cents=("cents", "sum"), orders="count", country=("country", "first")
        )
        best = client.top_k(spent, 10, "cents")
        countries = client.group_by(joined, "country").agg(cents=("cents", "sum"))
        countries = client.sort_by(countries, "country", nulls="last")

    known = orders.filter(orders["customer"].is_valid())
    sums = known.group_by("customer").aggregate([("cents", "sum")])
    assert joined.num_rows == ORDERS
    assert spent.num_rows == sums.num_rows
    assert best["cents"].to_pylist() == sorted(sums["cents_sum"].to_pylist(), reverse=True)[:10]
    assert sum(countries["cents"].to_pylist()) == sum(orders["cents"].to_pylist())
    assert countries["country"].to_pylist() == [*sorted(filter(None, COUNTRIES)), None]

    first = best.slice(0, 1).to_pylist()[0]
    print(
        f"{first['customer']} of {first['country']} spent most: {first['cents'] / 100:,.2f} in {first['orders']} orders"
    )
    for row in countries.to_pylist():
        print(f"{row['country'] or 'unknown':<10} {row['cents'] / 100:>14,.2f}")


if __name__ == "__main__":
    main()
