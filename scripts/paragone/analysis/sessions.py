"""Sessions: what was measured without a pause of an hour. An hour is not a machine: sessions are not paired.

Within one session, or two, the unit of tests is what was repeated there, a contest say, and verdicts hold for
these hours. From three sessions on they are the unit, with a variance of their own.
"""

import pandas as pd

from paragone.config.questions import HOUR

SESSION = "session"
ENOUGH = 3  # sessions, from which on they are the unit


def numbered(started: pd.Series, seconds: pd.Series) -> pd.Series:
    """The session of each measurement, 1 the first; missing where it is not known when one was.

    `started`: times of day. `seconds`: that it took. A session begins more than an hour after all earlier
    measurements had ended.
    """
    begun = pd.to_datetime(started, utc=True, format="ISO8601").dropna().sort_values()
    ended = begun + pd.to_timedelta(seconds[begun.index].astype("float64").fillna(0), unit="s")
    pause = begun - ended.cummax().shift()
    return (
        ((pause > pd.Timedelta(seconds=HOUR)).cumsum() + 1).reindex(started.index).astype("Int64")
    )


def by_session(effects: pd.Series, session: pd.Series) -> pd.Series:
    """The effects that intervals and tests count: those given, or the mean of each session from three on.

    `session`: that of each effect, by the same index.
    """
    grouped = effects.groupby(session.reindex(effects.index))
    return grouped.mean() if grouped.ngroups >= ENOUGH else effects
