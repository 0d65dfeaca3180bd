"""Loaded by every Python of an observed run: a clock that sleeps move, and stand-ins for packages that are not installed.

The values in capitals are replaced when a run is planned.
"""

import datetime as _datetime
import importlib.abc as _abc
import importlib.machinery as _machinery
import json as _json
import sys as _sys
import time as _time
import types as _types

_OFFSET = float("@OFFSET@")
_DEBUGGER = "@DEBUGGER@" == "1"
_moved = [0.0]
_real = {
    name: getattr(_time, name)
    for name in ("time", "monotonic", "perf_counter", "localtime", "gmtime", "strftime", "ctime", "sleep")
}


def _now():
    return _real["time"]() + _OFFSET + _moved[0]


def _mark(text):
    try:
        open("/run/metier/" + text)
    except (OSError, ValueError):
        pass


def _sleep(seconds):
    if seconds < 0.5:  # a loop that waits for another process
        _real["sleep"](seconds)
        return
    _moved[0] += float(seconds)
    if seconds >= 1:
        _mark(f"sleep/{int(seconds)}")
    _real["sleep"](0.001)


_time.sleep = _sleep
_time.time = _now
_time.time_ns = lambda: int(_now() * 1e9)
_time.monotonic = lambda: _real["monotonic"]() + _moved[0]
_time.perf_counter = lambda: _real["perf_counter"]() + _moved[0]
_time.localtime = lambda seconds=None: _real["localtime"](_now() if seconds is None else seconds)
_time.gmtime = lambda seconds=None: _real["gmtime"](_now() if seconds is None else seconds)
_time.ctime = lambda seconds=None: _real["ctime"](_now() if seconds is None else seconds)
_time.strftime = lambda form, when=None: _real["strftime"](form, _time.localtime() if when is None else when)


class _Kind(type):
    def __instancecheck__(cls, value):
        return isinstance(value, cls.__mro__[1])

    def __subclasscheck__(cls, value):
        return issubclass(value, cls.__mro__[1])


_RealDatetime, _RealDate = _datetime.datetime, _datetime.date


class _Datetime(_RealDatetime, metaclass=_Kind):
    @classmethod
    def now(cls, tz=None):
        return _RealDatetime.fromtimestamp(_now(), tz)

    @classmethod
    def utcnow(cls):
        return _RealDatetime.fromtimestamp(_now(), _datetime.UTC).replace(tzinfo=None)

    @classmethod
    def today(cls):
        return _RealDatetime.fromtimestamp(_now())


class _Date(_RealDate, metaclass=_Kind):
    @classmethod
    def today(cls):
        return _RealDate.fromtimestamp(_now())


_Datetime.__name__ = _Datetime.__qualname__ = "datetime"
_Date.__name__ = _Date.__qualname__ = "date"
_datetime.datetime, _datetime.date = _Datetime, _Date

if _DEBUGGER:
    _sys.settrace(lambda frame, event, value: None)


# Stand-ins for packages that are not installed.


class _Stand(_types.ModuleType):
    """Any attribute, call, item or iteration of it works and means nothing."""

    def __init__(self, name="stand"):
        super().__init__(name)
        self.__path__ = []

    def __getattr__(self, name):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        if name[:1].isupper() and name.endswith(("Error", "Exception", "Timeout")):
            made = type(name, (Exception,), {})
        else:
            made = _Stand(f"{self.__name__}.{name}")
        setattr(self, name, made)
        return made

    def __call__(self, *values, **named):
        if len(values) == 1 and not named and callable(values[0]) and not isinstance(values[0], _Stand):
            return values[0]
        return _Stand(self.__name__)

    def __mro_entries__(self, bases):
        return (object,)

    def __getitem__(self, key):
        return _Stand(self.__name__)

    def __setitem__(self, key, value):
        pass

    def __iter__(self):
        return iter(())

    def __len__(self):
        return 0

    def __enter__(self):
        return self

    def __exit__(self, *problem):
        return False

    async def __aenter__(self):
        return self

    async def __aexit__(self, *problem):
        return False

    def __await__(self):
        yield from ()
        return self

    def __bool__(self):
        return True

    def __str__(self):
        return "example"

    def __fspath__(self):
        return "/tmp/example"

    def __int__(self):
        return 1

    __index__ = __int__

    def __float__(self):
        return 1.0

    def _same(self, *others):
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __or__ = __and__ = __mod__ = _same

    def __lt__(self, other):
        return False

    __gt__ = __le__ = __ge__ = __lt__


class _Response:
    def __init__(self, url, status, headers, content):
        self.url, self.status_code, self.status, self.headers, self.content = url, status, status, headers, content
        self.ok = self.is_success = status < 400
        self.reason, self.encoding, self.cookies, self.history = "OK", "utf-8", {}, []

    @property
    def text(self):
        return self.content.decode("utf-8", "replace")

    def json(self, **named):
        return _json.loads(self.content)

    def raise_for_status(self):
        return self

    def iter_content(self, size=1, **named):
        yield self.content

    iter_bytes = iter_content

    def iter_lines(self, **named):
        return iter(self.text.splitlines())

    def read(self):
        return self.content

    def close(self):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *problem):
        return False


def _request(method, url, params=None, data=None, json=None, headers=None, files=None, auth=None, content=None, **named):
    import base64
    import urllib.error
    import urllib.parse
    import urllib.request

    headers = {str(key): str(value) for key, value in dict(headers or {}).items()}
    if params:
        url += ("&" if "?" in url else "?") + (
            params if isinstance(params, str) else urllib.parse.urlencode(params, doseq=True)
        )
    body = content if content is not None else data
    if json is not None:
        body = _json.dumps(json, default=str)
        headers.setdefault("Content-Type", "application/json")
    if isinstance(body, (dict, list)):
        body = urllib.parse.urlencode(body, doseq=True)
    if hasattr(body, "read"):
        body = body.read()
    if files:
        parts = []
        for key, value in files.items() if hasattr(files, "items") else files:
            value = value[1] if isinstance(value, (tuple, list)) and len(value) > 1 else value
            value = value.read() if hasattr(value, "read") else value
            value = value.encode() if isinstance(value, str) else bytes(value)
            head = f'--boundary\r\nContent-Disposition: form-data; name="{key}"; filename="{key}"\r\n\r\n'
            parts.append(head.encode() + value + b"\r\n")
        extra = body if isinstance(body, bytes) else (body or "").encode()
        body = b"".join(parts) + extra + b"--boundary--\r\n"
        headers["Content-Type"] = "multipart/form-data; boundary=boundary"
    if auth and isinstance(auth, (tuple, list)):
        headers["Authorization"] = "Basic " + base64.b64encode(f"{auth[0]}:{auth[1]}".encode()).decode()
    headers.setdefault("User-Agent", "python-requests/2.32.3")
    body = body.encode() if isinstance(body, str) else body
    request = urllib.request.Request(str(url), data=body, headers=headers, method=method.upper())
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:
            return _Response(str(url), answer.status, dict(answer.headers), answer.read())
    except urllib.error.HTTPError as error:
        return _Response(str(url), error.code, dict(error.headers), error.read())


class _Client:
    def __init__(self, *values, base_url="", headers=None, **named):
        self.headers, self.base, self.cookies, self.auth, self.verify, self.proxies = (
            dict(headers or {}),
            str(base_url),
            {},
            None,
            True,
            {},
        )

    def request(self, method, url, headers=None, **named):
        named.setdefault("auth", self.auth)
        return _request(method, self.base + str(url), headers={**self.headers, **dict(headers or {})}, **named)

    def mount(self, *values):
        pass

    def close(self):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *problem):
        return False


class _Later:
    """The answer of an asynchronous client: awaited, or entered."""

    def __init__(self, response):
        self.response = response

    def __await__(self):
        yield from ()
        return self.response

    async def __aenter__(self):
        return _Asynchronous(self.response)

    async def __aexit__(self, *problem):
        return False


class _Asynchronous:
    def __init__(self, response):
        self.response, self.status, self.headers, self.ok = response, response.status, response.headers, response.ok

    async def text(self, *values):
        return self.response.text

    async def json(self, **named):
        return self.response.json()

    async def read(self):
        return self.response.content

    def raise_for_status(self):
        return self


class _AsyncClient(_Client):
    def request(self, method, url, **named):
        return _Later(super().request(method, url, **named))

    async def __aenter__(self):
        return self

    async def __aexit__(self, *problem):
        return False

    async def aclose(self):
        pass


for _method in ("get", "post", "put", "patch", "delete", "head", "options"):
    setattr(
        _Client,
        _method,
        lambda self, url, *values, _method=_method, **named: self.request(
            _method, url, **({"data": values[0]} if values else {}), **named
        ),
    )


def _http_module(name):
    module = _Stand(name)
    module.request = _request
    for method in ("get", "post", "put", "patch", "delete", "head", "options"):
        setattr(
            module,
            method,
            lambda url, *values, _method=method, **named: _request(
                _method, url, **({("params" if _method == "get" else "data"): values[0]} if values else {}), **named
            ),
        )
    module.Session = module.session = module.Client = _Client
    module.AsyncClient = module.ClientSession = _AsyncClient
    module.Response = _Response
    module.__version__ = "2.32.3"
    return module


_HTTP = {"requests", "httpx", "aiohttp", "urllib3", "niquests"}
_NEVER = {"sitecustomize", "usercustomize", "apport_python_hook", "readline", "_pydevd_bundle", "pydevd", "google"}


class _Finder(_abc.MetaPathFinder, _abc.Loader):
    """The last finder: whatever no other finds, if the name is one that a package could have and no file of the skill has."""

    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        parent = _sys.modules.get(name.rpartition(".")[0])
        if name.startswith("_") or top in _NEVER or top in _sys.stdlib_module_names:
            return None
        if "." in name and not isinstance(parent, _Stand):
            return None
        frame = _sys._getframe(1)
        while frame and "importlib" in frame.f_code.co_filename:
            frame = frame.f_back
        if frame and frame.f_code.co_filename.startswith(("/usr/lib", "/usr/local/lib", _sys.prefix)):
            return None  # a library asks whether a package is there
        return _machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        _mark(f"package/{spec.name.partition('.')[0]}")
        return _http_module(spec.name) if spec.name in _HTTP else _Stand(spec.name)

    def exec_module(self, module):
        pass


_sys.meta_path.append(_Finder())
