"""The prices to plan with: the packaged snapshot, under what the user's refreshes have found.

Both are read from the same tables. A store is opened only where it knows more than it has published.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

from pricing.catalog import HOURLY, PACKAGED, Catalog, open_snapshot, read_meta, reading
from pricing.errors import PricingError
from pricing.offer import InstanceType, Offer


class PublishedCatalog(Catalog):
    """A store's published view. What every plan needs is read at once, so that damage shows before it is relied on."""

    def __init__(self, path: Path, notices: Sequence[str] = ()) -> None:
        super().__init__(path, notices, changing=True)
        self._offers = super().offers(HOURLY)
        self._types = super().instance_types()

    def offers(self, purchases: Sequence[str] = HOURLY) -> list[Offer]:
        return self._offers if tuple(purchases) == HOURLY else super().offers(purchases)

    def instance_types(self) -> dict[tuple[str, str], InstanceType]:
        return self._types


def open_catalog(path: Path | None = None, store: Path | None = None) -> Catalog:
    """The packaged snapshot, or another one, with the user's ``store`` laid over it where that file exists.

    Raises PricingError where the snapshot cannot be read; whatever is wrong with the store is a notice.
    """
    where = PACKAGED if path is None else path
    if not where.is_file():
        raise PricingError(f"the price snapshot {where} is missing")
    if store is not None and store.is_file():
        return _open_published(store, where)
    return open_snapshot(where)


def _open_published(store: Path, packaged: Path) -> Catalog:
    """The store's view over the snapshot, brought up to date where the store or the snapshot is newer than the view.

    A damaged store is set aside and the snapshot answers alone, with a notice. Raises PricingError where the snapshot
    cannot be read either.
    """
    from pricing.store import open_store
    from pricing.store_file import StoreError

    try:
        if not _is_current(store, packaged):
            with open_store(store) as opened:
                opened.publish(open_snapshot(packaged))
                notices = opened.notices
            return PublishedCatalog(store, notices)
        return PublishedCatalog(store)
    except (PricingError, sqlite3.Error) as error:
        from pricing.store_file import is_damage, set_aside

        cause = error.__cause__ or error
        if is_damage(cause):
            return open_snapshot(packaged, [set_aside(store)])
        if isinstance(error, StoreError):
            return open_snapshot(packaged, [str(error)])
        return open_snapshot(packaged, [f"your refreshed prices cannot be read ({cause}); these are the packaged ones"])


def _is_current(store: Path, packaged: Path) -> bool:
    """Whether the view shows this snapshot and everything observed since; False where that cannot be said."""
    from pricing.store_file import fingerprint

    try:
        with reading(store, changing=True) as view:
            meta = read_meta(view)
            (observed,) = view.execute("select count from observations").fetchone()
    except PricingError as error:
        if isinstance(error.__cause__, sqlite3.OperationalError):
            return False
        raise
    return meta.get("published") == f"{fingerprint(packaged)} {observed}"
