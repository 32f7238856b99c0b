"""A small TCP proxy before a server, to cut, stall or half-open the connections through it."""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading


class Proxy:
    """Passes bytes both ways; `cut`, `stall` and `half_open` are the faults."""

    def __init__(self, port: int, limit: int | None = None) -> None:
        self.target, self.limit = port, limit
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.pairs: dict[socket.socket, socket.socket] = {}
        self.passing, self.answering, self.closed = True, True, False
        self.passed = 0
        self._wake, self._woken = socket.socketpair()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def __enter__(self) -> Proxy:
        return self

    def __exit__(self, *_: object) -> None:
        self.closed = True
        self._wake.send(b"x")
        self._thread.join(5)
        for end in (*self.pairs, self.listener, self._wake, self._woken):
            end.close()

    def cut(self) -> None:
        """Reset every connection; new ones are possible."""
        for end in list(self.pairs):
            with contextlib.suppress(OSError):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
                end.shutdown(socket.SHUT_RDWR)

    def stall(self) -> None:
        """Keep the connections open and pass nothing in either direction."""
        self.passing = False
        self._wake.send(b"x")

    def half_open(self) -> None:
        """What the client says arrives; what the server answers does not."""
        self.answering = False

    def heal(self) -> None:
        """Pass bytes again."""
        self.passing = self.answering = True
        self._wake.send(b"x")

    def _run(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self.listener, selectors.EVENT_READ)
            selector.register(self._woken, selectors.EVENT_READ)
            clients: set[socket.socket] = set()
            while not self.closed:
                for key, _ in selector.select():
                    end = key.fileobj
                    if end is self._woken:
                        self._woken.recv(100)
                        self._watch(selector)
                    elif end is self.listener:
                        client = self.listener.accept()[0]
                        server = socket.create_connection(("127.0.0.1", self.target))
                        self.pairs |= {client: server, server: client}
                        clients.add(client)
                        self._watch(selector)
                    elif end in self.pairs:
                        self._pass(selector, end, end in clients)

    def _watch(self, selector: selectors.BaseSelector) -> None:
        watched = {k.fileobj for k in selector.get_map().values()}
        for end in self.pairs:
            if self.passing and end not in watched:
                selector.register(end, selectors.EVENT_READ)
            elif not self.passing and end in watched:
                selector.unregister(end)

    def _pass(self, selector: selectors.BaseSelector, end: socket.socket, client: bool) -> None:
        other = self.pairs[end]
        try:
            data = end.recv(65536)
            if data and (client or self.answering):
                if not client:
                    self.passed += len(data)
                if self.limit is not None and self.passed > self.limit:
                    self.limit = None
                    raise ConnectionResetError
                other.sendall(data)
        except OSError:
            data = b""
        if not data:
            for gone in (end, other):
                if self.pairs.pop(gone, None):
                    with contextlib.suppress(KeyError):
                        selector.unregister(gone)
                    gone.close()
