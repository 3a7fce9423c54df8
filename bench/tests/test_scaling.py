"""The simulation of the chart's autoscaler."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "clusters"))

from scaling import Calls, Chart, Run, simulate, trace

CHART = Chart(lanes=4, least=2, most=8, queue_age_s=1, queued=64, busy_share=0.8, up_s=30, down_s=900, connection_s=300)
CALLS = Calls(mean_s=0.2)
POD_RATE = CHART.lanes / CALLS.mean_s


def step(share: float, until_s: float = 1e9) -> Run:
    """Ten minutes of half a pod's load, then `share` pods' until a time, then half a pod's again."""
    return simulate(lambda now: POD_RATE * (share if 600 <= now < until_s else 0.5), CHART, CALLS, hours=1)


def test_the_chart_has_what_the_simulation_reads() -> None:
    chart = Chart.read()
    assert (chart.lanes, chart.least, chart.most, chart.down_s) == (4, 2, 8, 900)
    assert chart.connection_s == 600


def test_a_load_that_the_least_pods_take_changes_nothing() -> None:
    run = step(1)
    assert set(run.pods) == {2}
    assert run.failures == 0
    assert 0.5 < run.percentile(0.5) / CALLS.mean_s < 1


def test_a_step_adds_pods_within_two_minutes_and_fails_no_more_calls_ten_minutes_later() -> None:
    run = step(4)
    assert run.pods[10] == 2
    assert run.pods[12] >= 4
    assert sum(run.failed[10:13]) > 0
    assert sum(run.failed[20:]) < 1e-3 * sum(map(len, run.minutes[20:]))  # calls that alone take too long
    assert max(run.pods) <= CHART.most


def test_pods_go_late_and_one_at_a_time() -> None:
    run = step(4, until_s=1500)
    assert min(run.pods[25:40]) >= 5  # what the load of the last 15 minutes wanted
    steps = [after - before for before, after in itertools.pairwise(run.pods[40:])]
    assert min(steps) == -1
    first, second = [at for at, by in enumerate(steps) if by < 0][:2]
    assert second - first >= 5


def test_fixed_pods_stay_and_the_same_load_gives_the_same_run() -> None:
    runs = [simulate(lambda now: POD_RATE, CHART, CALLS, hours=0.2, pods=3) for _ in range(2)]
    assert set(runs[0].pods) == {3}
    assert runs[0] == runs[1]


def test_a_full_queue_refuses_and_a_long_wait_is_late() -> None:
    few = simulate(lambda now: 3 * POD_RATE, CHART, Calls(mean_s=0.2, most_queued=5), hours=0.2, pods=1)
    long = simulate(lambda now: 3 * POD_RATE, CHART, CALLS, hours=0.2, pods=1)
    for run in (few, long):
        assert 0.6 < run.failures < 0.8  # one call in three has a lane, and some of these take longer than expected
    assert few.percentile(0.99) < 2 < long.percentile(0.99) <= CALLS.deadline_s


def test_a_recorded_load_is_replayed_from_its_first_time_on(tmp_path: Path) -> None:
    recorded = tmp_path / "load.csv"
    recorded.write_text("seconds,calls per second\n100,5\n160,7\n", encoding="utf-8")
    rate = trace(recorded)
    assert [rate(at) for at in (0, 59, 60, 1e6)] == [5, 5, 7, 7]
