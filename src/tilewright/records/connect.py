"""Open a records database: create it, recognise it, refuse it with a way out."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Generator, Set
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import (
    URL,
    Connection,
    Engine,
    create_engine,
    event,
    insert,
    inspect,
    make_url,
    select,
)
from sqlalchemy.exc import ArgumentError, IntegrityError, NoSuchModuleError, SQLAlchemyError

from tilewright.errors import RecordsError
from tilewright.records import schema

# How long a writer waits for another process's transaction before it gives up.
_BUSY_MILLISECONDS = 60_000
_IMPORT = "import what was exported of it (tilewright.records.lines) into a new file."


def connect(where: str | Path, *, create: bool) -> Engine:
    """Return an engine for the database at a path or URL whose schema is ours and current.

    With `create`, an empty one gets it. A file that need not be created is opened for reading
    alone where it cannot be written. What is no database of ours stays as it is.
    """
    url = _url(where)
    options: dict[str, Any] = {}
    if url.get_backend_name() == "sqlite":
        _check_file(url, create=create)
        if not create and (path := file_of(url)) and not _can_write(path):
            options["creator"] = _reader(path)
    with explained(url, "open", create=create):
        try:
            engine = create_engine(url, **options)
        except ImportError as error:
            raise RecordsError(
                f"cannot open {url}: the driver {error.name!r} is not installed; install it, or "
                "give the path of an SQLite file."
            ) from error
        if engine.dialect.name == "sqlite":
            event.listen(engine, "connect", _configure_reader if options else _configure(create))
            event.listen(engine, "begin", _begin)
        try:
            _recognise(engine, create=create)
        except BaseException:
            engine.dispose()
            raise
    return engine


@contextmanager
def explained(url: URL, doing: str, *, create: bool) -> Generator[None]:
    """Turn a database's own errors into a `RecordsError` that says what to do.

    To begin with a new file is no advice to who only reads: without `create` it is not given.
    """
    try:
        yield
    except (SQLAlchemyError, UnicodeEncodeError) as error:
        reason = str(getattr(error, "orig", None) or error).strip()
        shown = url.database if url.get_backend_name() == "sqlite" else url
        remedy = _remedy(reason, create)
        raise RecordsError(f"cannot {doing} {shown}: {reason}; {remedy}") from error


def _remedy(reason: str, create: bool) -> str:
    known = {
        "not a database": "give the path of a database that tilewright wrote, "
        f"{'or of a new file' if create else 'or restore a copy if this was one'}.",
        "unable to open": "check that its directory can be written, or give another path.",
        "readonly": "make the file and its directory writable, or copy the database elsewhere.",
        "disk is full": "free some space and repeat; every trial committed before is safe.",
        "locked": "another process holds it; wait for that to end, or give another path.",
        "disk I/O": "its disk failed, or something else removed or changed its files; check both "
        "and repeat; every trial committed before is safe if the files are.",
        "malformed": "the file is damaged; restore a copy, or "
        + ("start with a new file." if create else _IMPORT),
        "serializable": "a trial's config and steps must be plain JSON values.",
        "surrogates": "texts must be whole Unicode, which UTF-8 can hold.",
    }
    for sign, remedy in known.items():
        if sign in reason:
            return remedy
    return "check the path or URL, and that the database accepts connections."


def _url(where: str | Path) -> URL:
    if not isinstance(where, str | PathLike) or not str(where).strip():  # pyright: ignore[reportUnnecessaryIsInstance]
        raise RecordsError(
            f"cannot open {where!r:.60}: it is no path; give that of an SQLite file."
        )
    if isinstance(where, Path) or "://" not in where:
        return URL.create("sqlite", database=str(where))
    try:
        url = make_url(where)
        url.get_dialect()
    except (ArgumentError, NoSuchModuleError) as error:
        raise RecordsError(
            f"cannot open {where!r}: it is no database URL that SQLAlchemy knows; "
            "give the path of an SQLite file, or a URL such as postgresql://host/name."
        ) from error
    except ImportError:
        return make_url(where)  # a known kind of database without its driver: said by connect()
    return url


def file_of(url: URL) -> Path | None:
    """Return the file of an SQLite database; None if it is in memory, or none of SQLite's."""
    nameless = url.database in (None, "", ":memory:")
    return None if nameless or url.get_backend_name() != "sqlite" else Path(str(url.database))


def identity(path: Path) -> tuple[int, int] | None:
    """Return what stays the same of a file until another takes its place; None if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _can_write(path: Path) -> bool:
    """Return whether SQLite can write a database: the file, and others beside it."""
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def _reader(path: Path) -> Callable[[], sqlite3.Connection]:
    """Return what opens a database that cannot be written.

    It is `immutable` if nobody's writes wait in a log beside it: SQLite then needs no other files.
    """
    log = path.with_name(f"{path.name}-wal")
    mode = "mode=ro" if log.exists() and log.stat().st_size else "immutable=1"
    place = f"file:{quote(str(path.absolute()))}?{mode}"
    return lambda: sqlite3.connect(place, uri=True, check_same_thread=False)


def _check_file(url: URL, *, create: bool) -> None:
    path = file_of(url)
    if path is None:
        return
    if path.is_dir():
        raise RecordsError(f"cannot open {path}: it is a directory; give the path of a file in it.")
    if not path.exists() and not create:
        raise RecordsError(
            f"cannot open {path}: there is no such file; tune something into it first, or give "
            "the path of an existing database."
        )
    if not path.parent.is_dir():
        raise RecordsError(
            f"cannot create {path}: {path.parent} is no directory; create it, or give another path."
        )


def _configure(create: bool) -> Callable[[Any, Any], None]:
    """Return what sets up an SQLite connection.

    Nothing committed is lost, and processes wait for each other.
    """

    def configure(connection: Any, record: Any) -> None:
        _configure_reader(connection, record)
        cursor = connection.cursor()
        tables = {name for (name,) in cursor.execute("SELECT name FROM sqlite_master")}
        if _is_ours(tables) or (create and not tables):  # the kind of log is written to the file
            _write_ahead(cursor)
        cursor.execute("PRAGMA synchronous = FULL")
        cursor.execute("PRAGMA foreign_keys = ON")
        cursor.close()

    return configure


def _write_ahead(cursor: sqlite3.Cursor) -> None:
    """Ask for a write-ahead log, as long as another process is just making it.

    SQLite refuses at once then, whatever the busy timeout, since both would wait for each other.
    """
    until = time.monotonic() + _BUSY_MILLISECONDS / 1000
    while True:
        try:
            cursor.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.01)


def _configure_reader(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # transactions begin where `_begin` says, and as it says
    connection.execute(f"PRAGMA busy_timeout = {_BUSY_MILLISECONDS}")


def _begin(connection: Connection) -> None:
    """Begin a transaction: one that will write waits for its turn before it reads anything.

    Had it read first and another process written since, SQLite would refuse its writes.
    """
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _recognise(engine: Engine, *, create: bool) -> None:
    """Check that the schema is ours; with `create`, write it if the database is empty."""
    found = set(inspect(engine).get_table_names())
    if not found and not create:
        raise RecordsError(
            f"cannot read records of {engine.url.database or engine.url}: it is empty; tune "
            "something into it first, or give the path of another database."
        )
    if not found:
        _create(engine)
    elif not _is_ours(found):
        wanted = "a new file" if create else "a database that tilewright wrote"
        raise RecordsError(
            f"cannot use {engine.url.database} for records: it is a database of something else "
            f"(tables: {', '.join(sorted(found))}); give the path of {wanted}."
        )
    with engine.connect() as connection:
        version = connection.scalar(
            select(schema.meta.c.value).where(schema.meta.c.key == "schema version")
        )
    if version != str(schema.VERSION):
        raise RecordsError(
            f"cannot use {engine.url.database}: its schema version is {version or 'missing'}, "
            f"this tilewright reads version {schema.VERSION}; export it to JSON lines with the "
            "tilewright that wrote it and import those into a new file, or tune into a new file."
        )


def _is_ours(found: Set[str]) -> bool:
    """Return whether a database that has these tables is one of records."""
    return found >= schema.tables.tables.keys() - schema.LATER


def _create(engine: Engine) -> None:
    """Create the tables, unless another process is doing just that."""
    version = {"key": "schema version", "value": str(schema.VERSION)}
    try:
        with engine.execution_options(writes=True).begin() as connection:
            schema.tables.create_all(connection)
            connection.execute(insert(schema.meta), version)
    except IntegrityError:
        return
